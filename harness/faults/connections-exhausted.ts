/** Every connection of the target's pool waits for the database, and whoever comes next waits for a connection. */
import type { Fault, StepOf } from "../fault.ts";
import { databasePowers } from "./database-powers.ts";

export const connectionsExhausted: Fault<StepOf<"connections-exhausted">> = {
  id: "connections-exhausted",

  async inject(_step, surroundings) {
    const heal = await databasePowers(surroundings).lockTables();
    return { heal };
  },
};

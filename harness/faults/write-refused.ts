/**
 * The database has no room for what a transaction writes (53100), and says so at one of its writes or at its commit.
 * Nothing of the transaction happened, and it is an error for which nobody repeats a transaction on his own.
 */
import type { DatabaseError, Fault, StepOf } from "../fault.ts";
import { databasePowers } from "./database-powers.ts";

const NO_ROOM: DatabaseError = { sqlState: "53100", message: "could not extend file: No space left on device" };

export const writeRefused: Fault<StepOf<"write-refused">> = {
  id: "write-refused",

  prepare: (_step, surroundings) => databasePowers(surroundings).readyToFail(NO_ROOM),

  async inject({ moment }, surroundings) {
    const heal = await databasePowers(surroundings).failOnce(moment);
    return { heal };
  },
};

/** The database ends every session of the target, as an administrator or a failover does. New ones are taken at once. */
import type { Fault, StepOf } from "../fault.ts";
import { databasePowers } from "./database-powers.ts";

export const sessionsEnded: Fault<StepOf<"sessions-ended">> = {
  id: "sessions-ended",

  async inject(_step, surroundings) {
    await databasePowers(surroundings).endSessions();
    return { heal: async () => undefined };
  },
};

/** The database crashes and recovers from its log; what it had promised to keep is there again, and nothing else. */
import type { Fault, StepOf } from "../fault.ts";
import { databasePowers } from "./database-powers.ts";

export const databaseCrash: Fault<StepOf<"database-crash">> = {
  id: "database-crash",

  async inject(_step, surroundings) {
    const recovered = await databasePowers(surroundings).crash();
    return {
      heal: async () => {
        await recovered();
        return undefined;
      },
    };
  },
};

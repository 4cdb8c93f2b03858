/** The database crashes and recovers from its log; what it had promised to keep is there again, and nothing else. */
import { Failure } from "../fail.ts";
import type { Fault, StepOf } from "../fault.ts";
import { databasePowers } from "./database-powers.ts";

export const databaseCrash: Fault<StepOf<"database-crash">> = {
  id: "database-crash",

  async inject(_step, surroundings) {
    const { crash } = databasePowers(surroundings);
    if (crash === undefined) throw new Failure("usage", "only a database of the lab's own can be made to crash");
    const recovered = await crash();
    return {
      heal: async () => {
        await recovered();
        return undefined;
      },
    };
  },
};

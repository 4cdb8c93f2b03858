/** The database fails under the target: sessions end, the server crashes, no connection is left, a statement fails. */
import { Failure } from "../fail.ts";
import type { Fault, StepOf } from "../fault.ts";

export const database: Fault<StepOf<"database">> = {
  id: "database",

  async inject({ what }, { powers: { database: disturb } }) {
    if (disturb === undefined) throw new Failure("usage", "the target does not use the lab's database (${postgres})");
    const cure = await disturb(what);
    return {
      heal: async () => {
        await cure();
        return undefined;
      },
    };
  },
};

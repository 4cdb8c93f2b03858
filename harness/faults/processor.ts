/** The processor declines, fails, stalls or answers late in the next calls for one operation. */
import { Failure } from "../fail.ts";
import type { Fault, StepOf } from "../fault.ts";

export const processor: Fault<StepOf<"processor">> = {
  id: "processor",

  async inject({ operation, behaviours }, { powers: { instruct }, referenceOf }) {
    if (instruct === undefined)
      throw new Failure("usage", "the target does not use the lab's processor (${processor})");
    const takeBack = await instruct(referenceOf(operation), behaviours);
    return { heal: async () => (await takeBack()) > 0 };
  },
};

/** The phase fails with an error, as a bug or a lost dependency would make it. Only at a failpoint. */
import type { Fault, StepOf } from "../fault.ts";

export const throwError: Fault<StepOf<"throw">> = {
  id: "throw",

  async inject() {
    return { directive: { do: "throw" }, heal: async () => undefined };
  },
};

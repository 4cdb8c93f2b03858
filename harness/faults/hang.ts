/** The phase never ends: whoever holds the key holds it until its lease is over. Only at a failpoint. */
import type { Fault, StepOf } from "../fault.ts";

export const hang: Fault<StepOf<"hang">> = {
  id: "hang",

  async inject() {
    return { directive: { do: "hang" }, heal: async () => undefined };
  },
};

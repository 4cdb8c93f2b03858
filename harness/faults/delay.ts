/** The phase takes its time: longer than a lease, its holder becomes a zombie that does not know it. Only at a failpoint. */
import type { Fault, StepOf } from "../fault.ts";

export const delay: Fault<StepOf<"delay">> = {
  id: "delay",

  async inject({ ms }) {
    return { directive: { do: "delay", ms }, heal: async () => undefined };
  },
};

/** Stops a replica in mid-work and lets it go on later: the way a long collection or a frozen host looks from outside. */
import { Failure } from "../fail.ts";
import type { Fault, StepOf } from "../fault.ts";

export const pauseReplica: Fault<StepOf<"pause-replica">> = {
  id: "pause-replica",

  async inject(_step, { powers: { pause, resume }, replica }) {
    if (pause === undefined || resume === undefined) {
      throw new Failure("usage", "only a target that the harness starts can be paused");
    }
    await pause(replica);
    return {
      heal: async () => {
        await resume(replica);
        return undefined;
      },
    };
  },
};

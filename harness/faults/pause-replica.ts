/** Stops a replica in mid-work and lets it go on later: the way a long collection or a frozen host looks from outside. */
import { Failure } from "../fail.ts";
import type { Fault } from "../fault.ts";

export const pauseReplica: Fault = {
  id: "pause-replica",

  async inject({ replica }, { pause, resume }) {
    if (pause === undefined || resume === undefined) {
      throw new Failure("usage", "only a target that the harness starts can be paused");
    }
    await pause(replica);
    return () => resume(replica);
  },
};

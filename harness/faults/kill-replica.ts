/** Kills a replica (SIGKILL) as a crash of its host would, and starts it again when healed. */
import { Failure } from "../fail.ts";
import type { Fault, StepOf } from "../fault.ts";

export const killReplica: Fault<StepOf<"kill-replica">> = {
  id: "kill-replica",

  async inject(_step, { powers: { kill, restart }, replica }) {
    if (kill === undefined || restart === undefined) {
      throw new Failure("usage", "only a target that the harness starts can be killed");
    }
    await kill(replica);
    return {
      heal: async () => {
        await restart(replica);
        return undefined;
      },
    };
  },
};

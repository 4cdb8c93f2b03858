/** Asks a replica to end (SIGTERM), as every deployment does, and starts it again when healed. */
import type { Fault, StepOf } from "../fault.ts";
import { restarting } from "./restarting.ts";

export const stopReplica: Fault<StepOf<"stop-replica">> = {
  id: "stop-replica",

  async inject(_step, { powers, replica }) {
    const { stop, restartAs } = restarting(powers);
    await stop(replica);
    return {
      heal: async () => {
        await restartAs(replica);
        return undefined;
      },
    };
  },
};

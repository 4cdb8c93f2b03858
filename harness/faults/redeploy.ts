/** A replica is replaced by another version of itself, as its file describes one; healed, the deployment is taken back. */
import { Failure } from "../fail.ts";
import type { Fault, StepOf } from "../fault.ts";
import { restarting } from "./restarting.ts";

export const redeploy: Fault<StepOf<"redeploy">> = {
  id: "redeploy",

  async inject(_step, { powers, replica }) {
    if (powers.redeployed === undefined)
      throw new Failure("usage", "the target file describes no other version (start.redeploy)");
    const { restartAs } = restarting(powers);
    await restartAs(replica, powers.redeployed);
    return {
      isOver: true,
      heal: async () => {
        await restartAs(replica);
        return undefined;
      },
    };
  },
};

/**
 * The clock of one replica is wrong by more than a day. Where leases and retention go by the database's clock
 * nothing may change; so apart from its two restarts this explains nothing.
 */
import { Failure } from "../fail.ts";
import type { Fault, StepOf } from "../fault.ts";
import { restarting } from "./restarting.ts";

export const skewedClock: Fault<StepOf<"skewed-clock">> = {
  id: "skewed-clock",

  async inject(_step, { powers, replica }) {
    if (powers.skewedClock === undefined) throw new Failure("usage", "this machine has no libfaketime");
    const { restartAs } = restarting(powers);
    await restartAs(replica, powers.skewedClock);
    return {
      isOver: true,
      heal: async () => {
        await restartAs(replica);
        return undefined;
      },
    };
  },
};

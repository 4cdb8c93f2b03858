/**
 * The clock of one replica is wrong by more than a day. Where leases and retention go by the database's clock
 * nothing may change; so apart from its two restarts this explains nothing.
 */
import { Failure } from "../fail.ts";
import type { Fault, StepOf } from "../fault.ts";
import { restarting } from "./restarting.ts";

const NOT_MOVED =
  "the clock of this target stays right under libfaketime: its program does not ask the C library for the time, as those of Go do not";
const NOT_SEEN = "the target's answers have no Date, so that nobody sees whether libfaketime moves its clock";

export const skewedClock: Fault<StepOf<"skewed-clock">> = {
  id: "skewed-clock",

  async inject(_step, { powers, replica }) {
    const { skewedClock: clock } = powers;
    if (clock === undefined) throw new Failure("usage", "this machine has no libfaketime");
    const { restartAs } = restarting(powers);
    await restartAs(replica, clock.env);
    const isWrong = await clock.isWrong(replica);
    if (isWrong !== true) {
      await restartAs(replica);
      throw new Failure("unavailable", isWrong === null ? NOT_SEEN : NOT_MOVED);
    }
    return {
      isOver: true,
      heal: async () => {
        await restartAs(replica);
        return undefined;
      },
    };
  },
};

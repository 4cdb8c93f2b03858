/** The heart of it: many copies of one request at the same moment, on all replicas. */
import { copies, gateOf, times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario, Step } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "duplicates-at-once",
  title: "Duplicates at once",
  requirement: "Of many equal requests at one moment exactly one executes, and every retry gets its answer",
  exercises: [
    "at-most-one-effect",
    "acknowledged-effect-exists",
    "replay-is-identical",
    "once-completed-always-completed",
    "duplicates-cause-no-server-error",
  ],

  plan(context) {
    const { rounds, bursts, endpoints, callers } = context;
    const steps = bursts.flatMap((size) =>
      times(rounds, (round): readonly Step[] => {
        const attempt: AttemptPlan = {
          operation: `of-${size}-r${round}`,
          endpoint: endpoints[0].name,
          caller: callers[0],
        };
        return [
          { do: "burst", gate: gateOf(context, round), attempts: copies(size, attempt) },
          { do: "send", attempts: [attempt, attempt] },
        ];
      }),
    );
    return [...steps.flat(), { do: "observe" }];
  },
};

export default scenario;

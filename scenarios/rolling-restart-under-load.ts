/**
 * A deployment: one replica after the other is asked to end and comes back, in good order and killed in turn,
 * while clients with many different operations retry until they have their answers.
 */
import { NO_SECOND_REPLICA, slowEndpoint, times, waitableLeaseMs } from "../harness/plan.ts";
import type { AttemptPlan, PlanContext, Scenario, Step } from "../harness/scenario.ts";

/** New operations with every replica that goes. */
const KEYS_PER_WAVE = 16;
/** So long a replica is away. */
const AWAY_MS = 100;

const scenario: Scenario = {
  id: "rolling-restart-under-load",
  title: "Rolling restart under load",
  requirement: "While one replica after the other is restarted every operation gets its answer and takes effect once",
  exercises: ["at-most-one-effect", "acknowledged-effect-exists", "every-key-resolves", "replay-is-identical"],
  faulty: true,
  inTurn: true,

  plan(context) {
    if (!context.canKill) return { skip: "only a target that the harness starts can be restarted (start)" };
    if (context.replicas < 2) return NO_SECOND_REPLICA;
    const leaseMs = waitableLeaseMs(context);
    if (typeof leaseMs !== "number") return leaseMs;
    const waves = times(context.replicas, (number) => {
      const fault = number % 2 === 1 ? ("stop-replica" as const) : ("kill-replica" as const);
      return { fault, replica: number - 1, plans: wave(context, `${fault}-${number}`) };
    });
    return [
      ...waves.flatMap(({ fault, replica, plans }): readonly Step[] => [
        { do: "start", attempts: [...slowly(context, plans), ...plans], until: "final" },
        // Some are in mid-work by then.
        { do: "wait", ms: AWAY_MS },
        { do: "during", fault: { fault, replica }, steps: [{ do: "wait", ms: AWAY_MS }] },
        { do: "join" },
        { do: "send", attempts: plans },
      ]),
      { do: "observe" },
    ];
  },
};

function wave({ endpoints, callers }: PlanContext, name: string): readonly AttemptPlan[] {
  return times(KEYS_PER_WAVE, (number) => ({
    operation: `${name}-${number}`,
    endpoint: (endpoints[number % endpoints.length] ?? endpoints[0]).name,
    caller: callers[0],
  }));
}

/** Each client has a second one of the same operation, which asks to be served slowly where that can be asked for. */
function slowly(context: PlanContext, plans: readonly AttemptPlan[]): readonly AttemptPlan[] {
  const slow = slowEndpoint(context);
  return plans
    .filter(({ endpoint }) => endpoint === slow?.name)
    .map((plan): AttemptPlan => ({ ...plan, condition: "slow" }));
}

export default scenario;

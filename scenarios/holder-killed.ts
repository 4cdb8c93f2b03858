/**
 * The process that holds a key is killed in mid-work. Nobody is left to finish or to release: the key must be free
 * again when the lease is over, and what was half done must not count.
 */
import { NO_SLOW, slowEndpoint, times, waitableLeaseMs, warmUp } from "../harness/plan.ts";
import type { AttemptPlan, PlanContext, Scenario, Step } from "../harness/scenario.ts";

const KILLED_REPLICA = 0;
const KEYS_PER_KILL = 6;

const scenario: Scenario = {
  id: "holder-killed",
  title: "The holder of a key is killed",
  requirement: "A key whose holder was killed in mid-work gets a final answer, and its operation takes effect once",
  exercises: ["at-most-one-effect", "acknowledged-effect-exists", "every-key-resolves"],
  faulty: true,
  inTurn: true,

  plan(context) {
    const endpoint = slowEndpoint(context);
    if (endpoint === null) return NO_SLOW;
    if (!context.canKill) return { skip: "only a target that the harness starts can be killed (start)" };
    const leaseMs = waitableLeaseMs(context);
    // Where nobody says how long a lease is, the client waits for as long as it would.
    if (typeof leaseMs !== "number" && context.contract.leaseMs !== "undocumented") return leaseMs;
    return [
      warmUp(context, endpoint.name),
      ...times(Math.ceil(context.samples / 3), (kill) => oneKill(context, kill, endpoint.name, endpoint.slowMs)).flat(),
    ];
  },
};

function oneKill({ callers }: PlanContext, kill: number, endpoint: string, slowMs: number): readonly Step[] {
  const plain = times(
    KEYS_PER_KILL,
    (number): AttemptPlan => ({ operation: `kill${kill}-k${number}`, endpoint, caller: callers[0] }),
  );
  return [
    { do: "start", attempts: plain.map((plan) => ({ ...plan, condition: "slow", replica: KILLED_REPLICA })) },
    { do: "wait", ms: Math.ceil(slowMs / 2) },
    {
      do: "during",
      fault: { fault: "kill-replica", replica: KILLED_REPLICA },
      steps: [{ do: "join" }, { do: "observe" }],
    },
    { do: "persist", attempts: plain },
    { do: "send", attempts: plain },
    { do: "observe" },
  ];
}

export default scenario;

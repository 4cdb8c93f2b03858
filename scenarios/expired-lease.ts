/**
 * The holder of a key stops in mid-work and outlives its lease. Duplicates come at once while the lease runs, and
 * again when it is over: others take over. Then the holder wakes up, a zombie that still believes the key is its own.
 */
import { copies, NO_SECOND_REPLICA, NO_SLOW, slowEndpoint, times, waitableLeaseMs, warmUp } from "../harness/plan.ts";
import type { AttemptPlan, PlanContext, Scenario, Step } from "../harness/scenario.ts";

const PAUSED_REPLICA = 0;
const OTHER_REPLICA = 1;
/** A process that has just started may not have claimed yet when the first one strikes. */
const PAUSES_MIN = 2;
/** A pause takes as long as the lease, so each is used for many keys. */
const KEYS_PER_PAUSE = 8;
const RACERS_PER_KEY = 5;
/** Time for a zombie to finish what it can still finish. */
const AFTERMATH_MS = 400;

const scenario: Scenario = {
  id: "expired-lease",
  title: "Expired lease and its zombie",
  requirement: "An expired lease is taken over once, and its old holder can finish nothing when it wakes up",
  exercises: [
    "single-takeover",
    "zombie-is-fenced",
    "every-key-resolves",
    "at-most-one-effect",
    "unrelated-keys-are-unaffected",
  ],
  faulty: true,

  plan(context) {
    const endpoint = slowEndpoint(context);
    if (endpoint === null) return NO_SLOW;
    if (!context.canPause) return { skip: "only a target that the harness starts can be paused (start)" };
    if (context.replicas < 2) return NO_SECOND_REPLICA;
    const leaseMs = waitableLeaseMs(context);
    if (typeof leaseMs !== "number") return leaseMs;
    return [
      warmUp(context, endpoint.name),
      ...times(Math.max(PAUSES_MIN, Math.ceil(context.samples / 2)), (pause) =>
        onePause(context, pause, endpoint.name, endpoint.slowMs, leaseMs),
      ).flat(),
    ];
  },
};

function onePause(
  { callers }: PlanContext,
  pause: number,
  endpoint: string,
  slowMs: number,
  leaseMs: number,
): readonly Step[] {
  const caller = callers[0];
  const plain = times(
    KEYS_PER_PAUSE,
    (number): AttemptPlan => ({ operation: `p${pause}-k${number}`, endpoint, caller }),
  );
  const held = plain.map((plan): AttemptPlan => ({ ...plan, condition: "slow", replica: PAUSED_REPLICA }));
  const elsewhere = plain.map((plan): AttemptPlan => ({ ...plan, replica: OTHER_REPLICA }));
  const control = times(
    KEYS_PER_PAUSE,
    (number): AttemptPlan => ({ operation: `p${pause}-control-${number}`, endpoint, caller, replica: OTHER_REPLICA }),
  );
  return [
    { do: "start", attempts: held },
    { do: "wait", ms: Math.ceil(slowMs / 2) },
    {
      do: "during",
      fault: { fault: "pause-replica", replica: PAUSED_REPLICA },
      steps: [
        // All told to wait: the proof that the holder had the key when it stopped, and still has it.
        {
          do: "burst",
          gate: "last-body-byte",
          mayMiss: true,
          attempts: elsewhere.flatMap((plan) => copies(RACERS_PER_KEY, plan)),
        },
        { do: "send", attempts: control },
        { do: "wait", ms: leaseMs },
        { do: "burst", gate: "last-body-byte", attempts: elsewhere.flatMap((plan) => copies(RACERS_PER_KEY, plan)) },
        { do: "persist", attempts: elsewhere },
        { do: "observe" },
      ],
    },
    { do: "join" },
    { do: "wait", ms: AFTERMATH_MS },
    { do: "send", attempts: [...plain, ...elsewhere] },
    { do: "observe" },
  ];
}

export default scenario;

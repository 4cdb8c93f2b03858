/**
 * A deployment brings another fingerprint algorithm, one replica after the other, and is taken back. Between two
 * attempts of one client the algorithm is another one: on keys that are answered, in flight, left by a frozen
 * holder, or held because the processor fell silent. The requests are the same, and nobody may take them for others.
 */
import type { FaultStep } from "../harness/fault.ts";
import { keyOf, NO_SECOND_REPLICA, NO_SLOW, slowEndpoint, times, underAll, waitableLeaseMs } from "../harness/plan.ts";
import type { AttemptPlan, PlanContext, Scenario, Step } from "../harness/scenario.ts";

/** Which replica is deployed first, and which one later. */
const FIRST = 1;
const LATER = 0;
const KEYS = 4;
/** A client does not wait longer for an answer that hangs on the processor. */
const PATIENCE_MS = 450;

const scenario: Scenario = {
  id: "changed-fingerprint-algorithm",
  title: "Another fingerprint algorithm between two retries",
  requirement:
    "A retry that meets another version of the target is still the same request, and another payload still is not",
  exercises: [
    "replay-is-identical",
    "once-completed-always-completed",
    "no-replay-across-mismatch",
    "every-key-resolves",
  ],
  faulty: true,
  inTurn: true,

  plan(context) {
    if (!context.canRedeploy) {
      return { skip: "the target file describes no version with another fingerprint algorithm (start.redeploy)" };
    }
    const endpoint = slowEndpoint(context);
    if (endpoint === null) return NO_SLOW;
    if (context.replicas < 2) return NO_SECOND_REPLICA;
    const leaseMs = waitableLeaseMs(context);
    if (typeof leaseMs !== "number") return leaseMs;
    const { callers } = context;
    const many = (kind: string): readonly AttemptPlan[] =>
      times(KEYS, (number) => ({ operation: `${kind}-${number}`, endpoint: endpoint.name, caller: callers[0] }));
    const hasFields = endpoint.fields.length > 0;
    const others = (plans: readonly AttemptPlan[]): readonly AttemptPlan[] =>
      hasFields
        ? plans.map(({ operation, ...plan }) => ({
            ...plan,
            operation: `${operation}-other`,
            key: keyOf(operation),
            payload: { kind: "other" },
          }))
        : [];
    // Each lives over one restart only, so that it is answered within its retention.
    const before = many("before");
    const byTheNew = many("by-the-new");
    const byTheOld = many("by-the-old");
    const takenBack = many("taken-back");
    return [
      { do: "send", attempts: on(LATER, before) },
      {
        do: "during",
        fault: { fault: "redeploy", replica: FIRST },
        steps: [
          { do: "send", attempts: [...on(FIRST, before), ...on(FIRST, others(before)), ...on(LATER, before)] },
          { do: "send", attempts: [...on(FIRST, byTheNew), ...on(LATER, byTheNew), ...on(LATER, others(byTheNew))] },
          ...unfinished(context, many("in-flight"), many("frozen"), endpoint.slowMs),
          { do: "send", attempts: on(LATER, byTheOld) },
          {
            do: "during",
            fault: { fault: "redeploy", replica: LATER },
            steps: [
              { do: "send", attempts: [...on(LATER, byTheOld), ...on(FIRST, byTheOld)] },
              { do: "send", attempts: on(LATER, takenBack) },
            ],
          },
          { do: "send", attempts: [...on(LATER, takenBack), ...on(FIRST, takenBack)] },
        ],
      },
      { do: "observe" },
    ];
  },
};

function on(replica: number, plans: readonly AttemptPlan[]): readonly AttemptPlan[] {
  return plans.map((plan) => ({ ...plan, replica }));
}

/** Begun by the old version and finished, or found finished, by the new one. */
function unfinished(
  context: PlanContext,
  inFlight: readonly AttemptPlan[],
  frozen: readonly AttemptPlan[],
  slowMs: number,
): readonly Step[] {
  const slow = (plans: readonly AttemptPlan[]): readonly AttemptPlan[] =>
    plans.map((plan) => ({ ...plan, condition: "slow" as const }));
  const held = heldKeys(context);
  const silence = held.map(
    ({ operation }): FaultStep => ({ fault: "processor", operation, behaviours: [{ do: "stall-after" }] }),
  );
  return [
    { do: "start", attempts: on(LATER, slow(inFlight)) },
    { do: "wait", ms: Math.ceil(slowMs / 3) },
    { do: "burst", gate: "last-body-byte", mayMiss: true, attempts: on(FIRST, inFlight) },
    { do: "persist", attempts: on(FIRST, inFlight) },
    { do: "join" },
    ...underAll(silence, [
      { do: "start", attempts: on(LATER, held).map((plan) => ({ ...plan, abortAfterMs: PATIENCE_MS })) },
      { do: "join" },
    ]),
    ...(context.canPause ? frozenHolder(on(LATER, slow(frozen)), on(FIRST, [...frozen, ...held]), slowMs) : []),
    { do: "persist", attempts: on(FIRST, held) },
    { do: "send", attempts: [...on(LATER, held), ...on(FIRST, inFlight)] },
  ];
}

function heldKeys({ endpoints, hasProcessor, callers }: PlanContext): readonly AttemptPlan[] {
  const endpoint = endpoints.find(({ isDownstream }) => isDownstream);
  if (endpoint === undefined || !hasProcessor) return [];
  return times(KEYS, (number) => ({ operation: `held-${number}`, endpoint: endpoint.name, caller: callers[0] }));
}

function frozenHolder(
  holders: readonly AttemptPlan[],
  elsewhere: readonly AttemptPlan[],
  slowMs: number,
): readonly Step[] {
  return [
    { do: "start", attempts: holders },
    { do: "wait", ms: Math.ceil(slowMs / 2) },
    {
      do: "during",
      fault: { fault: "pause-replica", replica: LATER },
      steps: [{ do: "persist", attempts: elsewhere }],
    },
    { do: "join" },
  ];
}

export default scenario;

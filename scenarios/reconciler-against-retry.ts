/**
 * The processor fell silent, so nobody knows whether the charge was made, and the key is held. When its lease ends
 * the target's own reconciler and the clients' retries come for it at the same time. Some of them come later: the
 * reconciler has their key by then, and where it has a failpoint it outlives its lease there.
 */
import type { FaultStep, ProcessorBehaviour } from "../harness/fault.ts";
import { copies, times, underAll, waitableLeaseMs } from "../harness/plan.ts";
import type { AttemptPlan, Scenario, Step } from "../harness/scenario.ts";

const KEYS = 6;
const KEYS_LATER = 2;
const RECONCILING = "reconciling";
const RACERS_PER_KEY = 3;
/** Bursts one after the other, from before the leases end until the reconciler has looked. */
const BURSTS = 4;
const EARLY_MS = 100;
const BETWEEN_BURSTS_MS = 80;
/** A client does not wait longer for its first answer; by then the target has given up waiting for the processor. */
const PATIENCE_MS = 450;
/** How much longer than its lease the reconciler stands still. */
const BEYOND_LEASE_MS = 300;

/** Charged or not: the answer is the same silence. */
const SILENCES: readonly [ProcessorBehaviour, ProcessorBehaviour] = [{ do: "stall-after" }, { do: "stall-before" }];

const scenario: Scenario = {
  id: "reconciler-against-retry",
  title: "The reconciler against a retry",
  requirement: "A held key that the reconciler and a client's retries come for is resolved once, by one of them",
  exercises: ["at-most-one-effect", "acknowledged-effect-exists", "one-downstream-operation", "every-key-resolves"],
  beside: true,
  inTurn: true,

  plan(context) {
    const endpoint = context.endpoints.find(({ isDownstream }) => isDownstream);
    if (endpoint === undefined || !context.hasProcessor) {
      return { skip: "no operation calls the lab's processor (operations.<name>.downstream in the target file)" };
    }
    const leaseMs = waitableLeaseMs(context);
    if (typeof leaseMs !== "number") return leaseMs;
    const many = (kind: string, count: number): readonly AttemptPlan[] =>
      times(count, (number) => ({
        operation: `${kind}-${number}`,
        endpoint: endpoint.name,
        caller: context.callers[0],
      }));
    const raced = many("raced", KEYS);
    const later = endpoint.phases.includes(RECONCILING) ? many("later", KEYS_LATER) : [];
    const faults = [
      ...[...raced, ...later].map(
        ({ operation }, index): FaultStep => ({
          fault: "processor",
          operation,
          behaviours: [SILENCES[index % 2] ?? SILENCES[0]],
        }),
      ),
      ...later.map(
        ({ operation }): FaultStep => ({
          fault: "delay",
          ms: leaseMs + BEYOND_LEASE_MS,
          at: { operation, phase: RECONCILING, pass: 1 },
        }),
      ),
    ];
    return [
      ...underAll(faults, [
        { do: "start", attempts: [...raced, ...later].map((plan) => ({ ...plan, abortAfterMs: PATIENCE_MS })) },
        { do: "join" },
        ...race(raced, leaseMs),
        ...(later.length > 0 ? [{ do: "until-struck" } as const, { do: "persist", attempts: later } as const] : []),
      ]),
      { do: "send", attempts: later },
      { do: "observe" },
    ];
  },
};

function race(plans: readonly AttemptPlan[], leaseMs: number): readonly Step[] {
  return [
    { do: "wait", ms: Math.max(0, leaseMs - PATIENCE_MS - EARLY_MS) },
    ...times(BURSTS, (): readonly Step[] => [
      {
        do: "burst",
        gate: "last-body-byte",
        mayMiss: true,
        attempts: plans.flatMap((plan) => copies(RACERS_PER_KEY, plan)),
      },
      { do: "wait", ms: BETWEEN_BURSTS_MS },
    ]).flat(),
    { do: "persist", attempts: plans },
    { do: "send", attempts: plans },
  ];
}

export default scenario;

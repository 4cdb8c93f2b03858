/**
 * The holders of many keys are gone, and at the very moment at which their leases end racers for every key come to
 * all replicas. Of all of them one may take the key over.
 */
import type { FaultStep } from "../harness/fault.ts";
import {
  copies,
  isQuick,
  NO_SECOND_REPLICA,
  NO_SLOW,
  placesAt,
  slowEndpoint,
  times,
  underAll,
  waitableLeaseMs,
} from "../harness/plan.ts";
import type { AttemptPlan, PlanContext, Scenario, Step } from "../harness/scenario.ts";

const KEYS = 8;
const RACERS_PER_KEY = 4;
/** Bursts one after the other, from before the leases end until after it. */
const BURSTS = 4;
const EARLY_MS = 120;
const BETWEEN_BURSTS_MS = 20;
const KILLED_REPLICA = 0;

const scenario: Scenario = {
  id: "takeover-race",
  title: "Takeover race",
  requirement: "Of many that come when a lease ends one takes the key over, and all get its answer",
  exercises: ["at-most-one-effect", "single-takeover", "every-key-resolves", "replay-is-identical"],
  faulty: true,
  inTurn: true,

  plan(context) {
    if (context.replicas < 2) return NO_SECOND_REPLICA;
    const leaseMs = waitableLeaseMs(context);
    if (typeof leaseMs !== "number") return leaseMs;
    const places = placesAt(context, ["claimed"]);
    const rounds = isQuick(context) ? 1 : 2;
    if (places.length > 0) {
      return times(rounds, (round) =>
        hungHolders(
          context,
          round,
          leaseMs,
          places.map(({ endpoint }) => endpoint.name),
        ),
      ).flat();
    }
    const slow = slowEndpoint(context);
    if (slow === null) return NO_SLOW;
    if (!context.canKill) return { skip: "only a target that the harness starts can lose the holder of a key (start)" };
    return killedHolders(context, slow.name, slow.slowMs, leaseMs);
  },
};

/** They hold their keys and do nothing else. */
function hungHolders(
  context: PlanContext,
  round: number,
  leaseMs: number,
  endpoints: readonly string[],
): readonly Step[] {
  const plans = keysOf(context, `hung-${round}`, endpoints);
  const faults = plans.map(
    ({ operation }): FaultStep => ({ fault: "hang", at: { operation, phase: "claimed", pass: 1 } }),
  );
  return underAll(faults, [
    { do: "start", attempts: plans.map((plan) => ({ ...plan, abortAfterMs: leaseMs })) },
    { do: "until-struck" },
    ...race(plans, leaseMs),
    { do: "join" },
  ]);
}

/** Their replica is back before their leases end, so that all replicas race. */
function killedHolders(context: PlanContext, endpoint: string, slowMs: number, leaseMs: number): readonly Step[] {
  const plans = keysOf(context, "killed", [endpoint]);
  return [
    { do: "start", attempts: plans.map((plan) => ({ ...plan, condition: "slow", replica: KILLED_REPLICA })) },
    { do: "wait", ms: Math.ceil(slowMs / 2) },
    { do: "during", fault: { fault: "kill-replica", replica: KILLED_REPLICA }, steps: [{ do: "join" }] },
    // How long the restart took nobody knows: a good part of the lease.
    ...race(plans, leaseMs / 2),
  ];
}

function race(plans: readonly AttemptPlan[], leftMs: number): readonly Step[] {
  return [
    // Told to wait: the proof that the keys are held.
    { do: "burst", gate: "last-body-byte", mayMiss: true, attempts: plans },
    { do: "wait", ms: Math.max(0, leftMs - EARLY_MS) },
    ...times(BURSTS, (): readonly Step[] => [
      { do: "burst", gate: "last-body-byte", attempts: plans.flatMap((plan) => copies(RACERS_PER_KEY, plan)) },
      { do: "wait", ms: BETWEEN_BURSTS_MS },
    ]).flat(),
    { do: "persist", attempts: plans },
    { do: "send", attempts: plans },
    { do: "observe" },
  ];
}

function keysOf({ callers }: PlanContext, name: string, endpoints: readonly string[]): readonly AttemptPlan[] {
  return times(KEYS, (number) => ({
    operation: `${name}-${number}`,
    endpoint: endpoints[number % endpoints.length] ?? "",
    caller: callers[0],
  }));
}

export default scenario;

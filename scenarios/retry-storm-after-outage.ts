/**
 * Everything is down at once, in mid-work: all replicas, or their links to the database. The clients retry
 * meanwhile and in vain, and when it is over they all come at the same moment.
 */

import type { FaultStep } from "../harness/fault.ts";
import { copies, isQuick, slowEndpoint, times, underAll, waitableLeaseMs } from "../harness/plan.ts";
import type { AttemptPlan, PlanContext, Scenario, Step } from "../harness/scenario.ts";

const KEYS_IN_MID_WORK = 8;
const KEYS_LATER = 16;
const RETRIES_PER_KEY = 3;
/** A client does not wait longer for its answer during the outage. */
const PATIENCE_MS = 250;

const scenario: Scenario = {
  id: "retry-storm-after-outage",
  title: "Retry storm after an outage",
  requirement: "When everybody retries at once after an outage every operation gets its answer and takes effect once",
  exercises: ["at-most-one-effect", "acknowledged-effect-exists", "every-key-resolves"],
  faulty: true,
  inTurn: true,
  usesLinks: true,

  plan(context) {
    const outages = outagesOf(context);
    if (outages.length === 0) {
      const { database } = context.links;
      if (typeof database === "object") return database;
      return { skip: "only a target that the harness starts can be shut down as a whole (start)" };
    }
    const leaseMs = waitableLeaseMs(context);
    if (typeof leaseMs !== "number") return leaseMs;
    const chosen = isQuick(context) ? [outages[context.seed % outages.length] ?? outages[0]] : outages;
    return chosen.flatMap((outage) => (outage === undefined ? [] : oneOutage(context, outage)));
  },
};

/** At work on every replica. */
interface Outage {
  readonly name: string;
  readonly faults: readonly FaultStep[];
}

function outagesOf({ replicas, canKill, links }: PlanContext): readonly Outage[] {
  const everywhere = (fault: (replica: number) => FaultStep): readonly FaultStep[] =>
    times(replicas, (number) => fault(number - 1));
  return [
    ...(canKill ? [{ name: "killed", faults: everywhere((replica) => ({ fault: "kill-replica", replica })) }] : []),
    ...(links.database === "there"
      ? [{ name: "cut-off", faults: everywhere((replica) => ({ fault: "link-down", link: "database", replica })) }]
      : []),
  ];
}

function oneOutage(context: PlanContext, { name, faults }: Outage): readonly Step[] {
  const { endpoints, callers } = context;
  const slow = slowEndpoint(context);
  const inMidWork = times(
    KEYS_IN_MID_WORK,
    (number): AttemptPlan => ({
      operation: `${name}-early-${number}`,
      endpoint: (slow ?? endpoints[0]).name,
      caller: callers[0],
    }),
  );
  const later = times(
    KEYS_LATER,
    (number): AttemptPlan => ({
      operation: `${name}-late-${number}`,
      endpoint: (endpoints[number % endpoints.length] ?? endpoints[0]).name,
      caller: callers[0],
    }),
  );
  const all = [...inMidWork, ...later];
  const impatient = all.map((plan): AttemptPlan => ({ ...plan, abortAfterMs: PATIENCE_MS }));
  return [
    { do: "start", attempts: slow === null ? inMidWork : inMidWork.map((plan) => ({ ...plan, condition: "slow" })) },
    ...(slow === null ? [] : [{ do: "wait", ms: Math.ceil(slow.slowMs / 2) } as const]),
    ...underAll(faults, [
      { do: "join" },
      { do: "start", attempts: impatient },
      { do: "join" },
      { do: "start", attempts: impatient },
      { do: "join" },
    ]),
    {
      do: "burst",
      gate: "last-body-byte",
      mayMiss: true,
      attempts: all.flatMap((plan) => copies(RETRIES_PER_KEY, plan)),
    },
    { do: "persist", attempts: all },
    { do: "send", attempts: all },
    { do: "observe" },
  ];
}

export default scenario;

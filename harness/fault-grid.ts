/**
 * The fault grid: one scenario for each phase of the lifecycle, in which every fault that can strike there does,
 * each an operation of its own, and then a client retries as a good client does until it has a final answer.
 */
import type { Cell } from "./fault-cells.ts";
import type { InvariantId } from "./invariants/list.ts";
import type { AttemptPlan, Endpoint, Plan, PlanContext, Scenario, Step } from "./scenario.ts";

export interface PhaseFaults {
  /** The scenario's id. */
  readonly id: string;
  readonly phase: string;
  /** The phase in words, after "Faults". */
  readonly when: string;
  readonly cells: readonly Cell[];
  readonly usesLinks?: boolean;
  /** What brings the operations so far that their next attempt passes the phase. Default: nothing. */
  readonly before?: (operations: readonly AttemptPlan[], leaseMs: number) => readonly Step[];
}

/** A client does not wait longer for its first answer. */
const PATIENCE_MS = 400;
/** The struck attempts of cells that are felt by others, and those of cells that are not. */
const STRUCK_REPLICA = 0;
const OTHER_REPLICA = 1;
/** Time for a zombie to finish what it can still finish. */
const AFTERMATH_MS = 400;
const LEASE_MS_MAX = 10_000;
/** A quick run strikes each phase with so many of the cells that are felt by others. */
const QUICK_CELLS = 2;
/** As many samples as a quick run takes. */
const QUICK_SAMPLES = 2;

const EXERCISES: readonly InvariantId[] = ["at-most-one-effect", "acknowledged-effect-exists", "every-key-resolves"];

export function faultsAt({ id, phase, when, cells, usesLinks = false, before }: PhaseFaults): Scenario {
  return {
    id,
    title: `Faults ${when}`,
    requirement: `Whatever fails ${when}, a client that retries reaches a final answer, and the operation took effect once`,
    exercises: EXERCISES,
    faulty: true,
    ...(usesLinks ? { usesLinks } : {}),
    plan: (context) => planOf(context, phase, cells, before),
  };
}

/** A cell with the operation that it strikes. */
interface Struck {
  readonly cell: Cell;
  readonly plan: AttemptPlan;
}

function planOf(context: PlanContext, phase: string, cells: readonly Cell[], before: PhaseFaults["before"]): Plan {
  const { leaseMs } = context.contract;
  const endpoints = endpointsWith(context, phase);
  if (endpoints.length === 0) {
    return { skip: `no operation has a failpoint ${phase} (operations.<name>.failpoints in the target file)` };
  }
  if (context.replicas < 2) return { skip: "a takeover needs a second replica (start.replicas)" };
  if (leaseMs === "undocumented") return { skip: "the contract leaves the lease undocumented" };
  if (leaseMs > LEASE_MS_MAX) {
    return {
      skip: `the lease is ${leaseMs} ms and is not waited for; give the target one of ${LEASE_MS_MAX} ms or less`,
    };
  }
  const struck = endpoints.flatMap((endpoint) =>
    cells
      .filter((cell) => cell.isPossible(context, endpoint))
      .map((cell): Struck => ({ cell, plan: planned(context, endpoint, cell) })),
  );
  if (struck.length === 0) return { skip: "none of the faults can strike this target" };
  const alone = sampled(context, ofKind(struck, "alone"));
  const held = sampled(context, ofKind(struck, "held")).slice(0, 1);
  const own = ofKind(struck, "own");
  const under = (steps: readonly Step[], some: readonly Struck[]): readonly Step[] =>
    some.reduceRight<readonly Step[]>(
      (inner, { cell, plan }) => [
        { do: "during", fault: cell.step({ operation: plan.operation, phase, pass: 1 }, leaseMs), steps: inner },
      ],
      steps,
    );
  const first = ({ plan }: Struck, replica: number): AttemptPlan => ({ ...plan, replica, abortAfterMs: PATIENCE_MS });
  const all = [...alone, ...held, ...own].map(({ plan }) => plan);
  return [
    ...(before?.(all, leaseMs) ?? []),
    ...alone.flatMap((one) => under([{ do: "send", attempts: [first(one, STRUCK_REPLICA)] }], [one])),
    ...under(
      [
        { do: "start", attempts: held.map((one) => first(one, STRUCK_REPLICA)) },
        { do: "start", attempts: own.map((one) => first(one, OTHER_REPLICA)) },
        { do: "wait", ms: PATIENCE_MS },
        { do: "persist", attempts: all.map((plan) => ({ ...plan, replica: OTHER_REPLICA })) },
        { do: "wait", ms: AFTERMATH_MS },
      ],
      [...held, ...own],
    ),
    { do: "join" },
    { do: "wait", ms: AFTERMATH_MS },
    { do: "send", attempts: all },
    { do: "observe" },
  ];
}

/** One of the endpoints that pass the same phases stands for the others. */
function endpointsWith({ endpoints }: PlanContext, phase: string): readonly Endpoint[] {
  const byPhases = new Map<string, Endpoint>();
  for (const endpoint of endpoints) {
    const phases = endpoint.phases.join(" ");
    if (endpoint.phases.includes(phase) && !byPhases.has(phases)) byPhases.set(phases, endpoint);
  }
  return [...byPhases.values()];
}

function planned({ callers }: PlanContext, endpoint: Endpoint, { name }: Cell): AttemptPlan {
  return { operation: `${endpoint.name}: ${name}`, endpoint: endpoint.name, caller: callers[0] };
}

function ofKind(struck: readonly Struck[], kind: Cell["kind"]): readonly Struck[] {
  return struck.filter(({ cell }) => cell.kind === kind);
}

function sampled({ samples, random }: PlanContext, struck: readonly Struck[]): readonly Struck[] {
  if (samples > QUICK_SAMPLES) return struck;
  return struck
    .map((one) => ({ one, order: random.next() }))
    .sort((one, other) => one.order - other.order)
    .slice(0, QUICK_CELLS)
    .map(({ one }) => one);
}

/**
 * The fault grid: one scenario for each phase of the lifecycle, in which every fault that can strike there does,
 * each an operation of its own, and then a client retries as a good client does until it has a final answer.
 */
import type { FaultStep } from "./fault.ts";
import type { Cell } from "./fault-cells.ts";
import type { InvariantId } from "./invariants/list.ts";
import { NO_SECOND_REPLICA, type Place, placesAt, underAll, waitableLeaseMs } from "./plan.ts";
import type { AttemptPlan, Plan, PlanContext, Scenario, Step } from "./scenario.ts";

export interface PhaseFaults {
  /** The scenario's id. */
  readonly id: string;
  /** The phases that are struck; `anywhere`: the faults need no failpoint, and strike what calls the processor. */
  readonly phases: readonly string[] | "anywhere";
  /** After "Faults": when, or of what. */
  readonly when: string;
  readonly cells: readonly Cell[];
  readonly usesLinks?: boolean;
  /** So quickly struck that all phases of an operation are played together. Default: one phase after the other. */
  readonly together?: boolean;
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
/** A quick run strikes each phase with so many of the cells that are felt by others. */
const QUICK_CELLS = 2;

const EXERCISES: readonly InvariantId[] = ["at-most-one-effect", "acknowledged-effect-exists", "every-key-resolves"];

export function faultsAt(faults: PhaseFaults): Scenario {
  const { id, when, usesLinks = false } = faults;
  return {
    id,
    title: `Faults ${when}`,
    requirement: `Whatever fails ${when}, a client that retries reaches a final answer, and the operation took effect once`,
    exercises: EXERCISES,
    faulty: true,
    inTurn: true,
    ...(usesLinks ? { usesLinks } : {}),
    plan: (context) => planOf(context, faults),
  };
}

/** A cell with the operation that it strikes. */
interface Struck {
  readonly cell: Cell;
  readonly phase: string;
  readonly plan: AttemptPlan;
}

function planOf(context: PlanContext, faults: PhaseFaults): Plan {
  const { phases, cells, before, usesLinks, together = before !== undefined } = faults;
  const places = placesOf(context, phases);
  if (places.length === 0) return { skip: noPlace(phases) };
  if (usesLinks && typeof context.links.client === "object") return context.links.client;
  if (context.replicas < 2) return NO_SECOND_REPLICA;
  const leaseMs = waitableLeaseMs(context);
  if (typeof leaseMs !== "number") return leaseMs;
  const struck = places.flatMap(({ endpoint, phase }) =>
    cells
      .filter((cell) => cell.phases?.includes(phase) ?? true)
      .filter((cell) => cell.isPossible(context, endpoint))
      .map((cell): Struck => ({ cell, phase, plan: planned(context, { endpoint, phase }, cell) })),
  );
  if (struck.length === 0) return { skip: "none of the faults can strike this target" };
  const chosen = [...sampled(context, ofKind(struck, "alone")), ...ofKind(struck, "held"), ...ofKind(struck, "own")];
  // Some at a time: a key is to be final before its retention is over. What has to be brought to the phase first has
  // less of it left.
  const groupOf = ({ phase, plan }: Struck): string => (together ? plan.endpoint : phase);
  const groups = new Set(chosen.map(groupOf));
  return [...groups].flatMap((group) => {
    const ofGroup = chosen.filter((one) => groupOf(one) === group);
    return stepsAt(ofGroup, leaseMs, before);
  });
}

function stepsAt(struck: readonly Struck[], leaseMs: number, before: PhaseFaults["before"]): readonly Step[] {
  if (struck.length === 0) return [];
  const alone = ofKind(struck, "alone");
  // While it is frozen, no second one can be struck on the same replica.
  const held = ofKind(struck, "held").slice(0, 1);
  const own = ofKind(struck, "own");
  const all = [...alone, ...held, ...own].map(({ plan }) => plan);
  return [
    ...(before?.(all, leaseMs) ?? []),
    ...strikes(alone, leaseMs),
    ...under([...held, ...own], leaseMs, [
      { do: "start", attempts: held.map((one) => first(one, STRUCK_REPLICA)) },
      { do: "start", attempts: own.map((one) => first(one, OTHER_REPLICA)) },
      ...(held.length + own.length > 0 ? [{ do: "wait", ms: PATIENCE_MS } as const] : []),
      { do: "persist", attempts: all.map((plan) => ({ ...plan, replica: OTHER_REPLICA })) },
    ]),
    { do: "join" },
    { do: "wait", ms: AFTERMATH_MS },
    // Every one of them is done: whoever asks again is answered as before.
    { do: "send", attempts: all },
    { do: "observe" },
  ];
}

/**
 * One after the other. Those of one cell that kills its replica are struck together: it takes time until a replica is
 * there again, so all but the last stand still at the phase until the last one comes to it.
 */
function strikes(alone: readonly Struck[], leaseMs: number): readonly Step[] {
  const lethal = alone.filter(({ cell }) => cell.isLethal);
  const last = lethal.at(-1);
  const one = (struck: Struck): readonly Step[] =>
    under([struck], leaseMs, [{ do: "send", attempts: [first(struck, STRUCK_REPLICA)] }, { do: "observe" }]);
  const others = alone.filter(({ cell }) => !cell.isLethal).flatMap(one);
  if (last === undefined) return others;
  const waiting = lethal.slice(0, -1);
  const still = waiting.map(
    ({ phase, plan: { operation } }): FaultStep => ({ fault: "hang", at: { operation, phase, pass: 1 } }),
  );
  return [
    ...others,
    ...underAll(still, [
      { do: "start", attempts: waiting.map((struck) => first(struck, STRUCK_REPLICA)) },
      { do: "until-struck" },
      ...one(last),
      { do: "join" },
    ]),
  ];
}

/** The struck attempt. Its client does not wait for ever. */
function first({ plan }: Struck, replica: number): AttemptPlan {
  return { ...plan, replica, abortAfterMs: PATIENCE_MS };
}

/** The steps with all these faults at work or armed. */
function under(struck: readonly Struck[], leaseMs: number, steps: readonly Step[]): readonly Step[] {
  return underAll(
    struck.map(({ cell, phase, plan }) => cell.step({ operation: plan.operation, phase, pass: 1 }, leaseMs)),
    steps,
  );
}

function placesOf(context: PlanContext, phases: PhaseFaults["phases"]): readonly Place[] {
  if (phases === "anywhere") {
    return context.endpoints
      .filter(({ isDownstream }) => isDownstream)
      .map((endpoint) => ({ endpoint, phase: "anywhere" }));
  }
  return placesAt(context, phases);
}

function noPlace(phases: PhaseFaults["phases"]): string {
  return phases === "anywhere"
    ? "no operation calls the lab's processor (operations.<name>.downstream in the target file)"
    : `no operation has a failpoint ${phases.join(" or ")} (operations.<name>.failpoints in the target file)`;
}

function planned({ callers }: PlanContext, { endpoint, phase }: Place, { name }: Cell): AttemptPlan {
  return { operation: `${endpoint.name} ${phase}: ${name}`, endpoint: endpoint.name, caller: callers[0] };
}

function ofKind(struck: readonly Struck[], kind: Cell["kind"]): readonly Struck[] {
  return struck.filter(({ cell }) => cell.kind === kind);
}

function sampled(context: PlanContext, struck: readonly Struck[]): readonly Struck[] {
  const { random } = context;
  if (!context.takesTurns) return struck;
  return struck
    .map((one) => ({ one, order: random.next() }))
    .sort((one, other) => one.order - other.order)
    .slice(0, QUICK_CELLS)
    .map(({ one }) => one);
}

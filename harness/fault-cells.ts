/**
 * The cells of the fault grid: what can strike an operation at a phase. A cell says how it is played, and what
 * the target and the lab must have for it.
 */
import type { DatabaseFault, FaultStep, LinkName, NetworkFault, Placement, ProcessorBehaviour } from "./fault.ts";
import type { Endpoint, PlanContext } from "./scenario.ts";

export interface Cell {
  readonly name: string;
  /**
   * `alone`: healed before the next one strikes. `held`: stays at work for longer than the lease, while the other
   * replica goes on. `own`: felt by its own operation only.
   */
  readonly kind: "alone" | "held" | "own";
  /** Nothing is left of the process: operations at the same phase are struck by one of them. */
  readonly isLethal?: boolean;
  /** Where once is enough: the phases at which it strikes. Default: all that a scenario names. */
  readonly phases?: readonly string[];
  isPossible(context: PlanContext, endpoint: Endpoint): boolean;
  step(at: Placement, leaseMs: number): FaultStep;
}

/** How much longer than a lease a holder is kept from its work. */
const BEYOND_LEASE_MS = 300;

export const killed: Cell = {
  name: "the replica is killed",
  kind: "alone",
  isLethal: true,
  isPossible: ({ canKill }) => canKill,
  step: (at) => ({ fault: "kill-replica", at }),
};

export const frozen: Cell = {
  name: "the replica is frozen beyond the lease",
  kind: "held",
  isPossible: ({ canPause }) => canPause,
  step: (at) => ({ fault: "pause-replica", at }),
};

export const delayed: Cell = {
  name: "the handler is delayed beyond the lease",
  kind: "own",
  isPossible: () => true,
  step: (at, leaseMs) => ({ fault: "delay", ms: leaseMs + BEYOND_LEASE_MS, at }),
};

export const failing: Cell = {
  name: "the handler fails",
  kind: "own",
  isPossible: () => true,
  step: (at) => ({ fault: "throw", at }),
};

export const hanging: Cell = {
  name: "the handler never ends",
  kind: "own",
  isPossible: () => true,
  step: (at) => ({ fault: "hang", at }),
};

function databaseCell(fault: DatabaseFault, name: string): Cell {
  return { name, kind: "alone", isPossible: ({ hasDatabase }) => hasDatabase, step: (at) => ({ fault, at }) };
}

export const sessionsEnded = databaseCell("sessions-ended", "the database ends its sessions");
export const databaseCrashed: Cell = {
  ...databaseCell("database-crash", "the database crashes and recovers"),
  isPossible: ({ canCrashDatabase }) => canCrashDatabase,
};

/** With what the database can refuse the next statement or the commit, while its connection stays. */
export const databaseErrorCells: readonly Cell[] = [
  {
    ...databaseCell("serialization-failure", "the transaction cannot be serialized"),
    phases: ["before-commit", "intent-recorded"],
  },
  {
    ...databaseCell("deadlock", "the transaction is given up for a deadlock"),
    phases: ["before-completion", "claimed"],
  },
  { ...databaseCell("statement-timeout", "the statement takes too long"), phases: ["claimed", "before-completion"] },
];

/** Every fault that needs no network between the parts. */
export const localCells: readonly Cell[] = [killed, frozen, delayed, failing, hanging, sessionsEnded, databaseCrashed];

function linkCell(link: LinkName, fault: NetworkFault, name: string): Cell {
  return {
    name,
    kind: "alone",
    isPossible: ({ links }, { isDownstream }) => links[link] === "there" && (link !== "processor" || isDownstream),
    step: (at) => ({ fault, link, at }),
  };
}

/** What can happen to the link between a replica and its database while a statement is due. */
export const databaseLinkCells: readonly Cell[] = [
  { ...linkCell("database", "undisturbed", "nothing happens to the link"), phases: ["before-claim"] },
  linkCell("database", "link-down", "the link goes down"),
  linkCell("database", "reset-after-execution", "the statement is carried out and its acknowledgement is lost"),
  linkCell("database", "reset-before-arrival", "the statement is lost"),
  { ...linkCell("database", "latency", "the answers come late"), phases: ["claimed"] },
];

/** What can happen to the link between a replica and the processor while a call is due. */
export const processorLinkCells: readonly Cell[] = [
  linkCell("processor", "undisturbed", "nothing happens to the link"),
  linkCell("processor", "link-down", "the link goes down"),
  linkCell("processor", "reset-after-execution", "the charge is made and its answer is lost"),
  linkCell("processor", "reset-before-arrival", "the call is lost"),
  linkCell("processor", "truncated-answer", "the answer breaks off"),
  linkCell("processor", "black-hole-answer", "the charge is made and the answer never comes"),
  linkCell("processor", "latency", "the answer comes late"),
];

function processorCell(name: string, ...behaviours: readonly ProcessorBehaviour[]): Cell {
  return {
    name,
    kind: "own",
    isPossible: ({ hasProcessor }, { isDownstream }) => hasProcessor && isDownstream,
    step: ({ operation }) => ({ fault: "processor", operation, behaviours }),
  };
}

/** Longer than a target waits for its processor, and shorter than a client waits for a key. */
const LATE_MS = 900;

/** What the processor itself can do to a call. */
export const processorCells: readonly Cell[] = [
  processorCell("it declines", { do: "decline" }),
  processorCell("it fails and has not charged", { do: "fail-before" }),
  processorCell("it fails and has charged", { do: "fail-after" }),
  processorCell("it never answers and has not charged", { do: "stall-before" }),
  processorCell("it never answers and has charged", { do: "stall-after" }),
  processorCell("it charges long after the call", { do: "late", ms: LATE_MS }),
  processorCell("it fails twice", { do: "fail-before" }, { do: "fail-after" }),
];

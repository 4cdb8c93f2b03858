/**
 * A fault is a disturbance that can be injected and is always healed: injecting returns the cure. It strikes at
 * once, or, where the target has failpoints, exactly when one operation passes a phase of its lifecycle.
 */
import type { Behaviour } from "./lab/processor/instruction.ts";
import type { Toxic } from "./lab/toxiproxy/toxic.ts";

export type ProcessorBehaviour = Behaviour;

/** The n-th time (from 1) that an operation passes a phase, whichever attempt or process brings it there. */
export interface Placement {
  /** The plan's own name. */
  readonly operation: string;
  readonly phase: string;
  readonly pass: number;
}

/** Connections between two parts of the lab that a fault can touch. `client`: from the harness to a replica. */
export const LINKS = ["client", "database", "processor"] as const;
export type LinkName = (typeof LINKS)[number];

/** What a link can do, each as Toxiproxy does it; `undisturbed` is the control: the same way with nothing in it. */
export const NETWORK_FAULTS = [
  "undisturbed",
  "latency",
  "bandwidth",
  "slicer",
  "slow-close",
  "reset-before-arrival",
  "reset-after-execution",
  "truncated-answer",
  "black-hole-request",
  "black-hole-answer",
  "link-down",
] as const;
export type NetworkFault = (typeof NETWORK_FAULTS)[number];

/** Those after which the client has no answer. */
export const LOSSY_FAULTS: readonly NetworkFault[] = [
  "reset-before-arrival",
  "reset-after-execution",
  "truncated-answer",
  "black-hole-request",
  "black-hole-answer",
  "link-down",
];

/** What can fail in the database. */
export const DATABASE_FAULTS = [
  "sessions-ended",
  "database-crash",
  "serialization-failure",
  "deadlock",
  "statement-timeout",
  "connections-exhausted",
] as const;
export type DatabaseFault = (typeof DATABASE_FAULTS)[number];

export type FaultStep = (
  | /** The replica's processes stop in mid-work (SIGSTOP) and go on where they were when healed (SIGCONT). */
  { readonly fault: "pause-replica" }
  /** The replica is killed (SIGKILL) and started again when healed. */
  | { readonly fault: "kill-replica" }
  /** The replica is asked to end (SIGTERM), as a deployment does, and started again when healed. */
  | { readonly fault: "stop-replica" }
  /** The replica is started again as another version (`start.redeploy`); healed: as this one. */
  | { readonly fault: "redeploy" }
  /** The replica is started again with a clock that is wrong by a day and more; healed: with the right one. */
  | { readonly fault: "skewed-clock" }
  /** The process itself waits, fails or stands still at the phase. These are placed, always. */
  | { readonly fault: "delay"; readonly ms: number }
  | { readonly fault: "throw" }
  | { readonly fault: "hang" }
  /** The processor misbehaves in the next calls for an operation. */
  | { readonly fault: "processor"; readonly operation: string; readonly behaviours: readonly Behaviour[] }
  /** One of the writes and commits that the target makes from now on; `moment`: which of them, from 1. */
  | { readonly fault: "write-refused"; readonly moment: number }
  | { readonly fault: DatabaseFault }
  | { readonly fault: NetworkFault; readonly link: LinkName }
) & {
  /** Which replica it strikes. Default: the one that passes the phase, else the first. */
  readonly replica?: number;
  /** Without it the fault strikes at once. */
  readonly at?: Placement;
};

/** The step of one fault, or of one of several that share a shape. */
export type StepOf<Name extends FaultStep["fault"]> = FaultStep & { readonly fault: Name };

/** What a process is told at a failpoint. */
export type Directive =
  | { readonly do: "go" }
  | { readonly do: "delay"; readonly ms: number }
  | { readonly do: "throw" }
  | { readonly do: "hang" };

/** What injecting needs to know beside the step. */
export interface Surroundings {
  readonly powers: Powers;
  readonly replica: number;
  /** The text by which the run names a planned operation. */
  readonly referenceOf: (operation: string) => string;
}

export interface Injected {
  /** For the process that passes the phase; default: it goes on. */
  readonly directive?: Directive;
  /**
   * False when it turns out that the fault never struck anything; a text: what it struck, in words; undefined: it
   * strikes by being there.
   */
  readonly heal: () => Promise<boolean | string | undefined>;
  /** What it disturbed is over. What it left behind disturbs nobody who keeps his promises, until its cure does. */
  readonly isOver?: true;
}

export interface Fault<Step extends FaultStep = FaultStep> {
  readonly id: Step["fault"];
  /** What has to be there before it can strike, and could not be put there while an operation is at work. */
  prepare?(step: Step, surroundings: Surroundings): Promise<Cure>;
  inject(step: Step, surroundings: Surroundings): Promise<Injected>;
}

export type Cure = () => Promise<void>;

/** What can be done to a running target. Absent: the harness did not start it and cannot. */
export interface Powers {
  readonly pause?: (replica: number) => Promise<void>;
  readonly resume?: (replica: number) => Promise<void>;
  readonly kill?: (replica: number) => Promise<void>;
  /** Asks a replica to end (SIGTERM); resolves when it has, killed if it takes too long. */
  readonly stop?: (replica: number) => Promise<void>;
  /** With these variables beside its own. Resolves when the replica is ready again. */
  readonly restart?: (replica: number, env?: Variables) => Promise<void>;
  /** What makes a replica another version of the target, where its file says so. */
  readonly redeployed?: Variables;
  /** What makes a replica's clock wrong, where the lab has a library for that; and whether it did. */
  readonly skewedClock?: SkewedClock;
  /** A link of a replica, where it leads through Toxiproxy. */
  readonly link?: (name: LinkName, replica: number) => FaultyLink | null;
  /** Tells the processor how to treat the next calls for a reference; the cure tells how many were so treated. */
  readonly instruct?: (reference: string, behaviours: readonly Behaviour[]) => Promise<() => Promise<number>>;
  /** The lab's database, where the target uses it. */
  readonly database?: DatabasePowers;
}

export interface SkewedClock {
  readonly env: Variables;
  /** By what the replica itself says the time is; null: it does not say. */
  isWrong(replica: number): Promise<boolean | null>;
}

/** Of an environment. */
export type Variables = Readonly<Record<string, string>>;

export interface DatabasePowers {
  endSessions(): Promise<void>;
  /** Only of a server of the lab's own. The cure resolves when it has recovered. */
  crash?(): Promise<Cure>;
  /** Makes the database ready to fail: until the cure every write and every commit asks whether it is to. */
  readyToFail(error: DatabaseError): Promise<Cure>;
  /**
   * One write or commit of the target fails, once: the next, or the n-th (`moment`, from 1) of all that follow, whoever
   * makes them. The cure tells in words which one did, or that none did.
   */
  failOnce(moment?: number): Promise<() => Promise<string | false>>;
  /** Whoever uses a table of the target's waits, his connection with him. The cure tells whether anybody did. */
  lockTables(): Promise<() => Promise<boolean>>;
}

/** As PostgreSQL would report it. */
export interface DatabaseError {
  readonly sqlState: string;
  readonly message: string;
}

export interface FaultyLink {
  add(toxic: Toxic): Promise<Cure>;
  cut(): Promise<Cure>;
}

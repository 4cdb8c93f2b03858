/**
 * A history is what a run recorded, arranged for judging: attempts joined with their outcomes, grouped by
 * effective key and by operation, beside the books. It is built in one pass (`reading/`) and never changed.
 */
import type { Call, Charge } from "./account.ts";
import type { Contract } from "./contract.ts";
import type { Effect, Ending, KeyRecord, RaceReceipt, RunFacts } from "./event.ts";
import type { Attempt, Micros, Outcome } from "./operation.ts";

/** An attempt with its outcome. Both may have their values by getters, which no spreading copies: name what you copy. */
export interface Recorded {
  readonly attempt: Attempt;
  readonly invokedAt: Micros;
  /** Infinity for an attempt whose end the history does not hold. */
  readonly completedAt: Micros;
  readonly outcome: Outcome;
}

/** Attempts that belong together. */
interface Together {
  /** In order of invocation. */
  readonly attempts: readonly Recorded[];
  /** One of each kind: any other attempt differs from one of these in its id, replica, times and outcome alone. */
  readonly kinds: readonly Attempt[];
  /** When the last of them ended or, where that is not known, began. */
  readonly lastAt: Micros;
}

/** All attempts that a target with separate scopes must treat as one key. */
export interface KeyGroup extends Together {
  readonly key: string;
  readonly caller: string;
  readonly endpoint: string;
  readonly query: string;
}

/** All attempts by which one client wanted one thing. */
export interface OperationRecord extends Together {
  readonly operation: string;
  readonly reference: string;
}

/** A time in which a fault was at work. */
export interface FaultWindow {
  readonly id: string;
  readonly fault: string;
  /** Null: it strikes no single replica. */
  readonly replica: number | null;
  /** Whose operation it struck, and where, if it was placed. */
  readonly operation: string | null;
  readonly phase: string | null;
  /** Before this moment it was not at work. */
  readonly from: Micros;
  /** From this moment on it certainly was. */
  readonly struckAt: Micros;
  readonly until: Micros;
  /** What it struck, in words, where it strikes once and can tell. */
  readonly struck?: string;
}

/** What the processor did for one operation. */
export interface Downstream {
  readonly calls: readonly Call[];
  readonly charges: readonly Charge[];
}

export interface Observation {
  /** When the reading began. What completed before is in all books of this reading. */
  readonly from: Micros;
  readonly at: Micros;
  readonly effects: ReadonlyMap<string, readonly Effect[]> | null;
  readonly records: readonly KeyRecord[] | null;
}

/** The books' last word, or why there is none. `absent`: the target has no books; that is no fault of the run. */
export type GroundTruth<Value> =
  | { readonly known: true; readonly value: Value }
  | { readonly known: false; readonly absent: boolean; readonly reason: string };

export interface ScenarioFacts {
  readonly id: string;
  readonly title: string;
  readonly requirement: string;
  readonly exercises: readonly string[];
  readonly skipped: string | null;
  /** It was skipped because the lab lacks something. */
  readonly isLacking: boolean;
  readonly finished: boolean;
  /** Bursts that never overlapped, however often they were repeated. */
  readonly unraced: number;
}

export interface History {
  readonly run: RunFacts;
  readonly contract: Contract;
  readonly scenario: ScenarioFacts;
  readonly attemptCount: number;
  /** In order of invocation. Of outcomes it has those headers that some invariant looks at. */
  readonly attempts: readonly Recorded[];
  readonly groups: readonly KeyGroup[];
  readonly operations: readonly OperationRecord[];
  readonly receipts: readonly RaceReceipt[];
  readonly faults: readonly FaultWindow[];
  /** Faults that were to strike and never did, in words. */
  readonly missedFaults: readonly string[];
  /** Reads of the books during the scenario, in order. */
  readonly observations: readonly Observation[];
  /** Effects by reference, from the last quiet read of the stage. */
  readonly effects: GroundTruth<ReadonlyMap<string, readonly Effect[]>>;
  /** States of key records by key, from the same reading. */
  readonly records: GroundTruth<ReadonlyMap<string, readonly string[]>>;
  /** What the processor has by reference, from the same reading. */
  readonly downstream: GroundTruth<ReadonlyMap<string, Downstream>>;
  /** When that reading was made; null: never. */
  readonly lastReadAt: Micros | null;
  /**
   * Lets go of attempts, groups and operations, which take far more memory than what they are made of. Whoever asks
   * for them afterwards gets new ones.
   */
  putAway(): void;
}

/** A whole run: one history for each scenario, since no key crosses scenarios. */
export interface RunHistory {
  readonly run: RunFacts | null;
  readonly scenarios: readonly History[];
  readonly durationMs: number;
  readonly attempts: number;
  readonly ending: Ending | "cut";
  readonly endingMessage: string | null;
  /** What could not be read and may have been evidence. */
  readonly damage: readonly string[];
  /** Something is missing before the end, so that what was found may have an explanation that was lost. */
  readonly hasGaps: boolean;
  /** What was passed over without loss, such as events of a type that this version does not know. */
  readonly notes: readonly string[];
}

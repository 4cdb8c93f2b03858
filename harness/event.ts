/**
 * One line of history.ndjson. Everything a verdict rests on is an event, the books included; what is not
 * in here did not happen.
 */
import type { Account } from "./account.ts";
import type { Contract } from "./contract.ts";
import type { Attempt, Micros, Outcome } from "./operation.ts";
import type { Recipe } from "./recipe.ts";

/** What a run knew of its target when it began. No secrets. */
export interface RunFacts {
  readonly runId: string;
  readonly seed: number;
  readonly startedAt: string;
  readonly version: string;
  readonly target: string;
  /** Arguments that repeat this run, as one line. */
  readonly command: string;
  /** What a replay needs of this run. Left out by whoever runs without a command line, and by earlier versions. */
  readonly recipe?: Recipe;
  readonly urls: readonly string[];
  readonly callers: readonly string[];
  /** Header names of each caller, for curl lines; never their values. */
  readonly callerHeaders: Readonly<Record<string, readonly string[]>>;
  readonly endpoints: Readonly<Record<string, EndpointFacts>>;
  readonly contract: Contract;
  /** Which books there are; `downstream`: the lab's processor. */
  readonly books: { readonly effects: boolean; readonly records: boolean; readonly downstream?: boolean };
  /** Key record states that mean completed. */
  readonly completedStates: readonly string[];
}

export interface EndpointFacts {
  readonly success: readonly number[];
  readonly invalidStatus: readonly number[];
  /** Column of the effects, and where the answer shows the same value; null: by equal top-level names. */
  readonly answer: Readonly<Record<string, string>> | null;
  /** How long the handler takes when asked to be slow, or null. */
  readonly slowMs: number | null;
  /** The operation calls the processor. */
  readonly isDownstream?: boolean;
  /** The way around the key layer, which a bench compares with: it takes no keys. */
  readonly isBaseline?: boolean;
}

/** A side effect that really happened, as the target's own books show it. */
export interface Effect {
  readonly operation: string;
  readonly columns: Readonly<Record<string, string>>;
}

export interface KeyRecord {
  readonly key: string;
  readonly state: string;
}

export type Gate = "last-body-byte" | "last-header-byte" | "http2" | "none";

/** Proof that a burst overlapped, or that it did not. */
export interface RaceReceipt {
  readonly scenario: string;
  readonly attempts: readonly string[];
  readonly gate: Gate;
  /** From the first to the last write that let an attempt go. */
  readonly releaseSpreadMicros: number;
  /** From the first to the last arrival, where the target tells it; else null. */
  readonly arrivalSpreadMicros: number | null;
  /** Smallest distance of two neighbouring arrivals (or releases, where arrivals are not told). */
  readonly closestMicros: number;
  /** The largest number of attempts that were in flight at one moment. */
  readonly inFlight: number;
  readonly measuredBy: "target" | "client";
  readonly replicas: readonly number[];
}

/** What the books held when they were read. */
export interface Books {
  /** Null where the target has no such books. */
  readonly effects: readonly Effect[] | null;
  readonly records: readonly KeyRecord[] | null;
  /** What the lab's processor has of this run; left out where the target does not use it. */
  readonly account?: Account;
  /** Two equal reads with nothing in flight. */
  readonly quiet: boolean;
  /** Why they could not be read, or null. */
  readonly failure: string | null;
}

export type Ending = "done" | "interrupted" | "target-lost" | "failed";

/**
 * A run has several copies of the target, each on a database of its own: one that nothing disturbs, which is
 * `calm`, and others whose processes are killed and whose connections are cut.
 */
export type StageName = "calm" | `faulty-${number}`;

export type Event =
  | { readonly type: "run"; readonly format: 1; readonly at: Micros; readonly run: RunFacts }
  | {
      readonly type: "scenario";
      readonly at: Micros;
      readonly id: string;
      readonly state: "started";
      readonly title: string;
      readonly requirement: string;
      readonly exercises: readonly string[];
      /** Default: calm. */
      readonly stage?: StageName;
    }
  | { readonly type: "scenario"; readonly at: Micros; readonly id: string; readonly state: "finished" }
  | {
      readonly type: "scenario";
      readonly at: Micros;
      readonly id: string;
      readonly state: "skipped";
      readonly title: string;
      readonly reason: string;
      /** The lab lacks something that the scenario needs: it was not left out on purpose. */
      readonly isLacking?: boolean;
    }
  | { readonly type: "invoked"; readonly at: Micros; readonly attempt: Attempt }
  | { readonly type: "completed"; readonly at: Micros; readonly attemptId: string; readonly outcome: Outcome }
  | { readonly type: "released"; readonly at: Micros; readonly receipt: RaceReceipt }
  | {
      readonly type: "unraced";
      readonly at: Micros;
      readonly scenario: string;
      /** How often a burst was repeated without ever overlapping. */
      readonly tries: number;
    }
  | {
      readonly type: "fault";
      readonly at: Micros;
      readonly scenario: string;
      /** Tells apart faults of one name. */
      readonly id?: string;
      /** Its own name, by which the judge knows what it can reach. */
      readonly fault: string;
      /** What people call it; default: its own name. */
      readonly label?: string;
      /** The same way with nothing disturbed. It explains nothing. */
      readonly isControl?: boolean;
      readonly replica: number | null;
      /** Whose operation it strikes, and the phase that this operation was to pass. */
      readonly operation?: string;
      readonly phase?: string;
      /** `armed`: placed and waiting. `injected`: at work from now on. `missed`: it never struck anything. */
      readonly state: "armed" | "injected" | "healed" | "missed";
      /** When injecting began. It was at work from some moment between then and `at`. Left out: at `at`. */
      readonly from?: Micros;
      /** When healed, where it strikes once and can tell: what it struck, in words. */
      readonly struck?: string;
    }
  | {
      readonly type: "observed";
      readonly at: Micros;
      /** When the reading began: effects and records are read between then and `at`. Left out: at `at`. */
      readonly from?: Micros;
      /** Null: the last reading of a stage, which is `stage`, or calm. */
      readonly scenario: string | null;
      readonly stage?: StageName;
      readonly books: Books;
    }
  | { readonly type: "ended"; readonly at: Micros; readonly ending: Ending; readonly message: string | null };

/** A key record as the steps of the lifecycle see it. */
import type { JsonObject } from "../json.ts";

/** The answer that every retry gets, byte for byte. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The processor's final word on a charge. */
export interface Outcome {
  /** The processor's id of it. */
  readonly charge: string;
  readonly status: "succeeded" | "declined";
}

/** What is to be asked of the processor, and what it takes to finish the operation without its request. */
export interface Intent {
  readonly downstreamKey: string;
  readonly caller: string;
  /** Texts only, so that nothing is lost in a column. */
  readonly fields: JsonObject;
}

/** The last step of an operation that is known to be done; a new holder goes on from there. */
export type Progress =
  | { readonly point: "claimed" }
  | { readonly point: "intent-recorded" }
  | { readonly point: "outcome-recorded"; readonly outcome: Outcome };

export interface KeyRecord {
  readonly requestHash: string;
  readonly state: "in_progress" | "completed" | "failed_retryable";
  readonly fencingToken: string;
  /** Milliseconds of lease left by the database's clock; zero or less: expired. */
  readonly leaseLeftMs: number;
  /** Retention is over by the database's clock. */
  readonly isExpired: boolean;
  readonly answer: StoredAnswer | null;
  /** Left out by a store of operations without recovery points, whose claims have only one. */
  readonly recoveryPoint?: Progress["point"] | "completed";
}

/** What identifies an operation to the key layer. */
export interface KeyIdentity {
  readonly scope: string;
  readonly key: string;
}

/** What a holder shows when it completes or releases: the token that a takeover would have replaced. */
export interface Claim extends KeyIdentity {
  readonly fencingToken: string;
  /** Left out: nothing but claimed. */
  readonly progress?: Progress;
}

/** The processor may have been called, or was: the operation has to be finished, and cannot begin anew. */
export function isResumed({ progress }: Claim): boolean {
  return progress !== undefined && progress.point !== "claimed";
}

/** Durations of the lifecycle, all measured by the database's clock. */
export interface Durations {
  readonly leaseMs: number;
  readonly retentionMs: number;
}

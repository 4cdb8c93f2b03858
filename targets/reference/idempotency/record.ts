/** A key record as the steps of the lifecycle see it. */

/** The answer that every retry gets, byte for byte. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface KeyRecord {
  readonly requestHash: string;
  readonly state: "in_progress" | "completed" | "failed_retryable";
  readonly fencingToken: string;
  /** Milliseconds of lease left by the database's clock; zero or less: expired. */
  readonly leaseLeftMs: number;
  /** Retention is over by the database's clock. */
  readonly isExpired: boolean;
  readonly answer: StoredAnswer | null;
}

/** What identifies an operation to the key layer. */
export interface KeyIdentity {
  readonly scope: string;
  readonly key: string;
}

/** What a holder shows when it completes or releases: the token that a takeover would have replaced. */
export interface Claim extends KeyIdentity {
  readonly fencingToken: string;
}

/** Durations of the lifecycle, all measured by the database's clock. */
export interface Durations {
  readonly leaseMs: number;
  readonly retentionMs: number;
}

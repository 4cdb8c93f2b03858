/** What the processor writes down: every call it got and every charge it made. Its books, not the target's. */

export type ChargeStatus = "succeeded" | "declined";

export interface Charge {
  readonly id: string;
  /** The key that the caller sent along, or null. */
  readonly key: string | null;
  /** The `reference` of the call's body: what the charge is for, in the words of whoever asked. */
  readonly reference: string;
  readonly amount: string;
  readonly currency: string;
  readonly status: ChargeStatus;
}

/**
 * What became of a call. `charged` and `declined` decided it, `replayed` gave an earlier decision again, `failed`
 * answered or was to answer a 5xx, `found` and `unknown` answered a status query.
 */
export type CallResult =
  | "charged"
  | "declined"
  | "replayed"
  | "failed"
  | "mismatch"
  | "in-flight"
  | "found"
  | "unknown";

export interface Call {
  readonly kind: "charge" | "query";
  readonly key: string | null;
  /** Null: a query that names a key without a charge. */
  readonly reference: string | null;
  readonly result: CallResult;
  /** The charge that it made, gave again or found. */
  readonly charge: string | null;
}

export interface Account {
  /** In the order in which the calls came in. */
  readonly calls: readonly Call[];
  readonly charges: readonly Charge[];
}

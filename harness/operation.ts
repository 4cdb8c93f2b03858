/**
 * An operation is what a client wants once; an attempt is one HTTP request of it. They are kept apart
 * from the key, because the defects we look for are the ways in which a key stops standing for one
 * operation.
 */

/** Microseconds since the run began, on the harness's monotonic clock. */
export type Micros = number;

/** Names in lower case; repeated lines are joined with ", " as RFC 9110 section 5.3 allows. */
export type Headers = Readonly<Record<string, string>>;

/**
 * What a payload means next to the operation's plain one. The judge compares fingerprints, never bodies,
 * so this is where the plan says which requests are the same request.
 */
export type Payload =
  | { readonly kind: "original" }
  /** Another way to write the same request: `reordered`, `spaced`, or the n-th of the target's own. */
  | { readonly kind: "spelling"; readonly name: string }
  /** One outcome-affecting field changed, all others kept. `field` is a JSON pointer. */
  | { readonly kind: "changed"; readonly field: string }
  /** Every outcome-affecting field changed. */
  | { readonly kind: "other" }
  /** The target must refuse it as invalid. */
  | { readonly kind: "invalid" }
  /** One side of a pair that the target's file lists as two different requests. */
  | { readonly kind: "pair"; readonly index: number; readonly side: "first" | "second" };

/** What an attempt asks of the target beside its payload, by means that the target's file names. */
export type Condition = "slow" | "fails";

export interface HttpRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

export interface Attempt {
  readonly id: string;
  readonly scenario: string;
  /** What the client wants once. Attempts of one operation share key, caller, endpoint and query. */
  readonly operation: string;
  /** The text by which the books name the effect; several operations share one only on purpose. */
  readonly reference: string;
  readonly endpoint: string;
  /** Null: sent without a key. */
  readonly key: string | null;
  readonly caller: string;
  /** Query string that makes it a different request, or "". */
  readonly query: string;
  readonly replica: number;
  readonly payload: Payload;
  /** Attempts with equal fingerprints ask for the same thing. */
  readonly fingerprint: string;
  readonly condition: Condition | null;
  /** Why the key on the wire is not an ordinary one, or null. */
  readonly malformed: "empty" | "too-long" | "charset" | null;
  /** The request carries headers that a key layer uses internally. */
  readonly forged: boolean;
  /** The client repeats this operation until it has a final answer. */
  readonly persistent: boolean;
  readonly request: HttpRequest;
}

/** An answer's body as far as it was recorded. `digest` (SHA-256, hex) is there when `text` is not all of it. */
export interface Body {
  readonly text: string;
  readonly bytes: number;
  readonly digest?: string;
}

export type IndeterminateReason =
  | "timeout"
  | "reset"
  | "closed"
  | "truncated"
  /** The client itself hung up, on purpose. */
  | "aborted"
  /** Something came that is not an HTTP answer. */
  | "malformed"
  /** The answer went on past the limit that the harness reads. */
  | "oversized"
  /** The history ends before the attempt does. */
  | "open";

export type Outcome =
  | { readonly kind: "responded"; readonly status: number; readonly headers: Headers; readonly body: Body }
  /** Proved not executed: no connection was made. */
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "indeterminate"; readonly reason: IndeterminateReason; readonly detail?: string };

export type Responded = Extract<Outcome, { kind: "responded" }>;

export function sameBody(one: Body, other: Body): boolean {
  return one.bytes === other.bytes && one.text === other.text && one.digest === other.digest;
}

/** The label by which the judge knows that two payloads of one reference ask for the same thing. */
export function fingerprintOf(payload: Payload, reference: string): string {
  switch (payload.kind) {
    case "original":
    case "spelling":
      return reference;
    case "changed":
      return `${reference} with another ${payload.field}`;
    case "other":
      return `${reference} with every field changed`;
    case "invalid":
      return `${reference} made invalid`;
    case "pair":
      return `${reference} pair ${payload.index} ${payload.side}`;
  }
}

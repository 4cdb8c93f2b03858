/** The ways in which the simulated server can be broken, each of which happened to somebody. */
import type { OrderField } from "./simulated-order.ts";

export type Defect =
  /** Looks whether the key is there and inserts afterwards. */
  | "check-then-act"
  /** The cleaner removes old claims that somebody still works on, who then has no record to complete. */
  | "cleanup-deletes-live-claim"
  /** A claim is never given up. */
  | "claim-without-lease"
  /** A holder finishes although its claim was taken over. */
  | "takeover-without-fencing"
  /** A holder whose claim was taken over has no effect any more, and overwrites the answer. */
  | "zombie-overwrites-answer"
  /** Of several that see an expired lease, each takes the claim over. */
  | "takeover-unconditional"
  /** Each replica has key records of its own. */
  | "process-local-store"
  /** One lock is held while any operation works. */
  | "one-lock-for-all"
  | "retention-too-short"
  | "retention-without-end"
  | "no-fingerprint"
  | `fingerprint-without-${OrderField}`
  /** Fingerprint of the bytes: another spelling is another request. */
  | "fingerprint-of-bytes"
  | "scope-without-caller"
  | "scope-without-endpoint"
  | "scope-without-query"
  | "keys-without-case"
  | "keys-cut"
  | "missing-key-executes"
  | "malformed-key-accepted"
  /** A request that carries the replay's marker is taken for one that the key layer has let through. */
  | "marker-skips-key-layer"
  /** A request that carries the replay's marker gets it back, as if its answer were a replay. */
  | "marker-echoed"
  | "server-error-stored"
  | "validation-error-released"
  /** The failure that frees the key comes after the effect. */
  | "failure-after-effect"
  /** The 422 becomes the stored answer. */
  | "rejection-overwrites-record"
  /** The 422 tells what the first request was. */
  | "rejection-leaks"
  /** Rejected with 422, and executed. */
  | "ghost-effect"
  /** Acknowledged, then rolled back. */
  | "lost-effect"
  | "wrong-amount-answered"
  /** The effect is committed, the record is not completed. */
  | "record-left-in-progress"
  | "original-headers-lost"
  | "replay-unmarked"
  /** For a while after its answer a key counts as in flight. */
  | "conflict-after-completion"
  | "conflict-without-retry-after"
  | "conflict-with-absurd-retry-after"
  /** A duplicate in flight gets a status that nobody promised. */
  | "conflict-undocumented"
  | "duplicate-gets-server-error"
  /** A duplicate in flight gets a success that nobody stored. */
  | "duplicate-gets-made-up-success"
  /** A duplicate in flight gets no answer at all. */
  | "duplicate-hangs";

/** The correct server has none. */
export type Behaviour = ReadonlySet<Defect>;

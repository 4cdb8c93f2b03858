/** What a correct server is free to decide. Whatever it chooses, it may not be accused. */
export interface Liberties {
  /** A record past its retention is forgotten at once, or when the cleaner comes by. */
  readonly expiry: "exact" | "when-cleaned";
  /** After a failure before any effect the key still stands for its payload, or is as good as new. */
  readonly released: "remembers-payload" | "forgets";
  /** What another payload is told while the first is in flight. */
  readonly mismatchInFlight: "mismatch" | "conflict";
  /** A duplicate in flight is told to wait, or is held until the answer is there. */
  readonly duplicates: "conflict" | "held";
  /** An invalid request claims its key and its answer is stored, or it is refused before the key is looked at. */
  readonly invalid: "stored" | "refused-first";
  /** A handler whose client has hung up goes on, or is dropped with its claim. */
  readonly hungUp: "goes-on" | "dropped";
}

/** As the reference decides. */
export const ordinary: Liberties = {
  expiry: "exact",
  released: "remembers-payload",
  mismatchInFlight: "mismatch",
  duplicates: "conflict",
  invalid: "stored",
  hungUp: "goes-on",
};

/** How long a key may stay unresolved, beyond what the contract says: the player waits for it, the judge holds to it. */

/** Beyond lease and this, a key that still conflicts is stuck. */
export const RESOLVE_MARGIN_MS = 3_000;

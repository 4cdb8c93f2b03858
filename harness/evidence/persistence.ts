/** A client that persists: how long it waits for a key, and which answers end its waiting. */

import type { Contract } from "../contract.ts";
import type { Outcome } from "../operation.ts";
import { matchesAny } from "./answers.ts";

/** How long a key may stay unresolved beyond its lease: the player waits for it, the judge holds to it. */
export const RESOLVE_MARGIN_MS = 3_000;

/** Nothing is left to wait for. */
export function isFinal(contract: Contract, outcome: Outcome): boolean {
  return outcome.kind === "responded" && outcome.status < 500 && !isToldToWait(contract, outcome);
}

/** Statuses in use for "in flight", for contracts that do not name theirs. */
const USUAL_CONFLICTS: readonly number[] = [409, 423, 425, 429];

export function isToldToWait({ inFlight: { answers } }: Contract, outcome: Outcome): boolean {
  if (outcome.kind !== "responded") return false;
  return answers === "undocumented" ? USUAL_CONFLICTS.includes(outcome.status) : matchesAny(answers, outcome);
}

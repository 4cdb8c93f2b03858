/** Operations that were acknowledged, and how many effects there must be of them. */
import type { Contract } from "../contract.ts";
import type { Effect } from "../event.ts";
import type { Recorded } from "../history.ts";
import { isSuccess } from "./answers.ts";
import { operationIdentity } from "./key-scope.ts";
import { oncePerHistory } from "./once.ts";

export interface Acknowledged {
  /** The first acknowledgement of each operation that must have taken effect on its own. */
  readonly witnesses: Recorded[];
  /** By any of which the books may name the effects. */
  readonly references: Set<string>;
}

/**
 * Operations with one key that the contract does not promise to keep apart count as one, since the target may
 * rightly take the second for a retry of the first: callers that may share a scope, and, where only the key
 * counts or a mismatch is undocumented, other payloads too.
 */
export const acknowledgementsByReference = oncePerHistory((history): ReadonlyMap<string, Acknowledged> => {
  const byReference = new Map<string, Acknowledged>();
  const byIdentity = new Map<string, Acknowledged>();
  const countsPayload = tellsPayloadsApart(history.contract);
  for (const { reference, attempts } of history.operations) {
    // With a changed field it may be the reference that was changed, and the effect has another name.
    const first = attempts.find((one) => one.attempt.payload.kind !== "changed" && isSuccess(history, one));
    if (first === undefined) continue;
    const identity = operationIdentity(history.contract, first.attempt);
    const asked = countsPayload ? `${identity.length} ${identity} ${reference}` : identity;
    const before = byIdentity.get(asked);
    if (before !== undefined) {
      before.references.add(reference);
      continue;
    }
    const known = byReference.get(reference) ?? { witnesses: [], references: new Set([reference]) };
    known.witnesses.push(first);
    byReference.set(reference, known);
    byIdentity.set(asked, known);
  }
  return byReference;
});

function tellsPayloadsApart({ fingerprint, mismatch }: Contract): boolean {
  return fingerprint !== "none" && fingerprint !== "undocumented" && mismatch !== "undocumented";
}

export function effectsOfAny(effects: ReadonlyMap<string, readonly Effect[]>, references: ReadonlySet<string>): number {
  let count = 0;
  for (const reference of references) count += effects.get(reference)?.length ?? 0;
  return count;
}

/**
 * A key group seen as a story: who owns the key, who came after, who was alone. Invariants that judge one
 * attempt by another ask these questions, and a wrong answer to one of them is a false accusation.
 */

import type { Contract } from "../contract.ts";
import type { History, KeyGroup, Recorded } from "../history.ts";
import type { Attempt } from "../operation.ts";
import { type Answered, firstSuccess, isAnswered, withinRetention } from "./answers.ts";
import { keyText } from "./key-scope.ts";
import { oncePerHistory } from "./once.ts";

/**
 * The owner of a key: the attempt whose success was received first, within retention. From then on the key
 * stands for its request.
 */
export function ownerOf(history: History, group: KeyGroup): Answered | null {
  const owners = ownersIn(history);
  const known = owners.get(group);
  if (known !== undefined) return known;
  const owner = firstSuccess(history, withinRetention(history.contract, group));
  owners.set(group, owner);
  return owner;
}

const ownersIn = oncePerHistory((): Map<KeyGroup, Answered | null> => new Map());

/** Sent after the owner's answer was there. Equal times prove no order. */
export function isAfter(recorded: Recorded, owner: Recorded): boolean {
  return recorded.invokedAt > owner.completedAt;
}

/** The group's first attempt, if it had its answer before the second was sent: no other attempt explains that answer. */
export function loneFirst({ attempts: [first, second] }: KeyGroup): Answered | null {
  if (first === undefined || !isAnswered(first)) return null;
  return second === undefined || isAfter(second, first) ? first : null;
}

/** False where a key on the wire is malformed: a target may take it for none, or for another. */
export function hasOrdinaryKey({ kinds }: KeyGroup): boolean {
  return kinds.every(({ malformed }) => malformed === null);
}

/**
 * The key as the target may rightly take it: blanks around a header's value are no part of it (RFC 9110
 * section 5.5), and case may be none where the contract is silent on it.
 */
export function keyAsTaken(contract: Contract, key: string): string {
  return keyText(contract, "header" in contract.key.placement ? key.trim() : key);
}

/** Groups by the key as the target may take it, those with malformed keys included. */
export const groupsByKey = oncePerHistory(arrangedByKey);

function arrangedByKey({ contract, groups }: History): ReadonlyMap<string, readonly KeyGroup[]> {
  const byKey = new Map<string, KeyGroup[]>();
  for (const group of groups) {
    const key = keyAsTaken(contract, group.key);
    const known = byKey.get(key);
    if (known) known.push(group);
    else byKey.set(key, [group]);
  }
  return byKey;
}

/** Groups with an ordinary key that no other group uses. */
export const groupsWithOwnKey = oncePerHistory((history): readonly KeyGroup[] => {
  const own: KeyGroup[] = [];
  for (const [group, ...others] of groupsByKey(history).values()) {
    if (group !== undefined && others.length === 0 && hasOrdinaryKey(group)) own.push(group);
  }
  return own;
});

/** Did the request itself carry this text, so that an answer may repeat it? */
export function carries({ request, reference, key }: Attempt, text: string): boolean {
  return (
    reference.includes(text) ||
    request.body.includes(text) ||
    request.path.includes(text) ||
    key?.includes(text) === true
  );
}

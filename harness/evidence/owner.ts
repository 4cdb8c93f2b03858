/** The owner of a key, and the attempts that came when its answer was already there. */

import type { History, KeyGroup, Recorded } from "../history.ts";
import { otherAnswer } from "./answer-difference.ts";
import { type Answered, isSuccess, isUnrelatedRefusal, withinRetention } from "./answers.ts";
import { ownerOf } from "./key-group.ts";
import { requestOf } from "./key-scope.ts";
import { oncePerHistory } from "./once.ts";

/** A key whose request was acknowledged. */
export interface OwnedKey {
  readonly group: KeyGroup;
  /** The success that was received first. */
  readonly owner: Answered;
  /**
   * Attempts of the same request that were invoked when the owner's answer had been received, within
   * retention, and answered for or by their key. Not those that were asked to fail: whether that or the
   * key comes first is nobody's promise.
   */
  readonly later: readonly Answered[];
}

export function ownedKey(history: History, group: KeyGroup): OwnedKey | null {
  const keys = keysIn(history);
  const known = keys.get(group);
  if (known !== undefined) return known;
  const owned = workedOut(history, group);
  keys.set(group, owned);
  return owned;
}

const keysIn = oncePerHistory((): Map<KeyGroup, OwnedKey | null> => new Map());

function workedOut(history: History, group: KeyGroup): OwnedKey | null {
  const { contract } = history;
  const attempts = withinRetention(contract, group);
  const owner = ownerOf(history, group);
  if (owner === null) return null;
  const request = requestOf(contract, owner.attempt);
  const later = attempts.filter(
    (one): one is Answered =>
      one.invokedAt > owner.completedAt &&
      one.attempt.condition !== "fails" &&
      requestOf(contract, one.attempt) === request &&
      isAboutItsKey(history, one),
  );
  return { group, owner, later };
}

/** Server errors and refusals of the caller say nothing of what became of the key. */
export function isAboutItsKey({ contract }: History, recorded: Recorded): recorded is Answered {
  return (
    recorded.outcome.kind === "responded" && recorded.outcome.status < 500 && !isUnrelatedRefusal(contract, recorded)
  );
}

/** How a later answer is not the owner's, or null. */
export function deviation(
  history: History,
  owner: Answered,
  later: Answered,
): { readonly what: string; readonly expected: string; readonly actual: string } | null {
  const isAcknowledged: boolean = isSuccess(history, later);
  if (isAcknowledged) return otherAnswer(owner.outcome, later.outcome, history.contract);
  return { what: "status", expected: String(owner.outcome.status), actual: String(later.outcome.status) };
}

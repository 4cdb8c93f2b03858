/** A request written another way is the same request: it gets the stored answer, not a mismatch. */
import { otherAnswer } from "../evidence/answer-difference.ts";
import {
  type Answered,
  describe,
  isAnswered,
  isConflict,
  isServerError,
  isSuccess,
  isTurnedAway,
  name,
  withinRetention,
} from "../evidence/answers.ts";
import { hasOrdinaryKey, isAfter, ownerOf } from "../evidence/key-group.ts";
import type { History, KeyGroup, Recorded } from "../history.ts";
import { type Invariant, undocumented, type Violation, verdictOf, violation } from "../invariant.ts";
import type { Payload } from "../operation.ts";

export const equalRequestsReplay = {
  id: "equal-requests-replay",
  level: "must",
  statement: "Equal requests, however they are spelled, get the answer of the first",

  check(history: History) {
    const { fingerprint } = history.contract;
    if (fingerprint === "undocumented") return undocumented("the fingerprint");
    if (fingerprint !== "canonical") {
      const reason = `the contract promises a fingerprint of the kind ${fingerprint}, for which spellings may differ`;
      return { result: "skip", reason, excused: true };
    }
    const violations: Violation[] = [];
    let checked = 0;
    for (const group of history.groups) {
      // Attempts of one kind are in one spelling.
      const owner = group.kinds.length > 1 && hasOrdinaryKey(group) ? ownerOf(history, group) : null;
      if (owner === null) continue;
      const result = judged(history, group, owner);
      checked += result.checked;
      if (result.violation) violations.push(result.violation);
    }
    return verdictOf(checked, violations, "no finished request was sent again in another spelling");
  },
} as const satisfies Invariant;

/** Judges the other spellings of one key's request, up to the first violation. */
function judged(
  history: History,
  group: KeyGroup,
  owner: Answered,
): { readonly checked: number; readonly violation: Violation | null } {
  let checked = 0;
  for (const later of withinRetention(history.contract, group)) {
    if (later.attempt.fingerprint !== owner.attempt.fingerprint || !isAfter(later, owner)) continue;
    if (spellingOf(later.attempt.payload) === spellingOf(owner.attempt.payload)) continue;
    if (!isAnswered(later) || isConflict(history.contract, later)) continue;
    if (isServerError(later) || isTurnedAway(later)) continue;
    checked += 1;
    const proof = faultOf(history, owner, later);
    if (proof !== null) return { checked, violation: violation([owner, later], proof) };
  }
  return { checked, violation: null };
}

function faultOf(history: History, owner: Answered, later: Recorded): Parameters<typeof violation>[1] | null {
  const sentence = `${name(later)} was the request of ${name(owner)} in the spelling "${spellingOf(later.attempt.payload)}"`;
  if (!isSuccess(history, later)) {
    return {
      message: `${sentence} and was not answered as the same request`,
      expected: `the answer of ${name(owner)}`,
      actual: describe(later.outcome),
    };
  }
  const found = otherAnswer(owner.outcome, later.outcome, history.contract);
  if (found === null) return null;
  return {
    message: `${sentence} and was answered with another ${found.what}`,
    expected: found.expected,
    actual: found.actual,
  };
}

/** The name of a spelling; the plain one is called `original`. */
function spellingOf(payload: Payload): string {
  return payload.kind === "spelling" ? payload.name : payload.kind;
}

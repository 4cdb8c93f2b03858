/** A rejection under a used key changes nothing: whoever was refused, the original still replays. */
import { type Answered, isAnswered, name, withinRetention } from "../evidence/answers.ts";
import { ownGroups } from "../evidence/key-scope.ts";
import { deviation, ownedKey } from "../evidence/owner.ts";
import type { History, KeyGroup, Recorded } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation } from "../invariant.ts";

export const originalSurvivesRejection = {
  id: "original-survives-rejection",
  level: "must",
  statement: "After any rejection under its key the original still gets its answer",

  check(history: History) {
    const violations: Violation[] = [];
    let checked = 0;
    for (const group of ownGroups(history)) {
      const rejection = firstRejection(history, group);
      const owned = rejection === null ? null : ownedKey(history, group);
      if (rejection === null || owned === null) continue;
      const originals = owned.later.filter(({ invokedAt }) => invokedAt > rejection.completedAt);
      checked += originals.length;
      const lost = originals.find((original) => deviation(history, owned.owner, original) !== null);
      if (lost !== undefined) violations.push(accuse(history, owned.owner, rejection, lost));
    }
    return verdictOf(checked, violations, "no original was sent again after a rejection under its key");
  },
} as const satisfies Invariant;

/** The rejection that was received first: what came after any of them came after this one. */
function firstRejection({ contract }: History, group: KeyGroup): Answered | null {
  let first: Answered | null = null;
  for (const recorded of withinRetention(contract, group)) {
    if (isRejection(recorded) && (first === null || recorded.completedAt < first.completedAt)) first = recorded;
  }
  return first;
}

function isRejection(recorded: Recorded): recorded is Answered {
  return isAnswered(recorded) && recorded.outcome.status >= 400 && recorded.outcome.status < 500;
}

function accuse(history: History, owner: Answered, rejection: Answered, lost: Answered): Violation {
  const found = deviation(history, owner, lost);
  return violation([owner, rejection, lost], {
    message: `${name(owner)} was acknowledged, ${name(rejection)} was rejected under the same key, and then ${name(lost)} got another ${found?.what} than the original`,
    expected: found?.expected ?? "",
    actual: found?.actual ?? "",
  });
}

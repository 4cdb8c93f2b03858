/** A key that is none (empty, too long, of forbidden characters) is refused, not shortened or repaired. */

import type { AnswerPattern, Contract } from "../contract.ts";
import { type Answered, isAnswered, isTurnedAway, matchesAny, name, patternsText } from "../evidence/answers.ts";
import { attemptsOfKind } from "../evidence/kind.ts";
import type { History } from "../history.ts";
import { type Invariant, undocumented, type Violation, verdictOf, violation } from "../invariant.ts";
import type { Attempt } from "../operation.ts";

type Malformed = NonNullable<Attempt["malformed"]>;

const REASONS: Readonly<Record<Malformed, string>> = {
  empty: "an empty key",
  "too-long": "a key longer than the contract allows",
  charset: "a key with characters that the contract forbids",
};

export const malformedKeyIsRejected = {
  id: "malformed-key-is-rejected",
  level: "must",
  statement: "A request with a malformed key is refused as the contract says",

  check(history: History) {
    const { malformed: promised } = history.contract.key;
    if (promised === "undocumented") return undocumented("the answer to a malformed key");
    const byCase = new Map<string, Violation>();
    let checked = 0;
    for (const recorded of attemptsOfKind(history, ({ malformed }) => malformed !== null)) {
      const { malformed, endpoint, key } = recorded.attempt;
      if (malformed === null || key === null || !isAnswered(recorded)) continue;
      const allowed = allowedFor(malformed, promised, history.contract);
      const isRight = matchesAny(allowed, recorded.outcome);
      if (!isRight && isOtherwiseRefused(recorded)) continue;
      checked += 1;
      const id = JSON.stringify([endpoint, malformed]);
      if (isRight || byCase.has(id)) continue;
      const proof = {
        message: `${name(recorded)} was sent to ${endpoint} with ${REASONS[malformed]} and was not refused for it`,
        expected: patternsText(allowed),
        actual: String(recorded.outcome.status),
      };
      byCase.set(id, violation([recorded], proof));
    }
    return verdictOf(checked, [...byCase.values()], "no request with a malformed key was answered");
  },
} as const satisfies Invariant;

/** An empty key may be refused as a missing one: a header without a value is hard to tell from none. */
function allowedFor(
  malformed: Malformed,
  promised: readonly AnswerPattern[],
  { key }: Contract,
): readonly AnswerPattern[] {
  return malformed === "empty" && typeof key.missing !== "string" ? [...promised, ...key.missing] : promised;
}

/** By a limit, by a gateway, or because the request is invalid for another reason too. */
function isOtherwiseRefused(answered: Answered): boolean {
  return answered.attempt.payload.kind === "invalid" || isTurnedAway(answered);
}

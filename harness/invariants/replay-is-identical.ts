/** Every retry gets the same answer: status, body and promised headers. */
import { difference } from "../evidence/answer-difference.ts";
import { isSuccess, name, withinRetention } from "../evidence/answers.ts";
import { ownerOf } from "../evidence/key-group.ts";
import type { History } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation } from "../invariant.ts";

export const replayIsIdentical = {
  id: "replay-is-identical",
  level: "must",
  statement: "All successes of one key are the same answer: status, body and promised headers",

  check(history: History) {
    const { contract } = history;
    const violations: Violation[] = [];
    let checked = 0;
    for (const group of history.groups) {
      const attempts = withinRetention(contract, group);
      const first = ownerOf(history, group);
      if (first === null) continue;
      for (const later of attempts) {
        if (later === first || !isSuccess(history, later)) continue;
        if (later.attempt.fingerprint !== first.attempt.fingerprint) continue;
        checked += 1;
        const found = difference(first.outcome, later.outcome, contract, contract.replay.headers);
        if (found === null) continue;
        violations.push(
          violation([first, later], {
            message: `${name(first)} and ${name(later)} answered one key with another ${found.what}`,
            expected: found.expected,
            actual: found.actual,
          }),
        );
        break;
      }
    }
    return verdictOf(checked, violations, "no key was answered with success twice");
  },
} as const satisfies Invariant;

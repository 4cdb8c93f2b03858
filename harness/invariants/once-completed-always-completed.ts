/** What a client was told once stays told: no later attempt waits, is refused, or sees another answer. */
import { name } from "../evidence/answers.ts";
import { ownGroups } from "../evidence/key-scope.ts";
import { deviation, ownedKey } from "../evidence/owner.ts";
import type { History } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation } from "../invariant.ts";

export const onceCompletedAlwaysCompleted = {
  id: "once-completed-always-completed",
  level: "must",
  statement: "Once a completed answer was received, every later attempt within retention gets that answer",

  check(history: History) {
    const violations: Violation[] = [];
    let checked = 0;
    for (const group of ownGroups(history)) {
      const owned = ownedKey(history, group);
      if (owned === null) continue;
      const { owner, later } = owned;
      checked += later.length;
      for (const one of later) {
        const found = deviation(history, owner, one);
        if (found === null) continue;
        violations.push(
          violation([owner, one], {
            message: `${name(owner)} had completed the request, and the later ${name(one)} got another ${found.what}`,
            expected: found.expected,
            actual: found.actual,
          }),
        );
        break;
      }
    }
    return verdictOf(checked, violations, "no acknowledged request was sent again and answered");
  },
} as const satisfies Invariant;

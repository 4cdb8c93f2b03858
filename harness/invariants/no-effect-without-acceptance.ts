/** Finds ghosts: every attempt of an operation was rejected, and the books hold an effect of it nevertheless. */
import { acceptanceByReference } from "../evidence/acceptance.ts";
import { name } from "../evidence/answers.ts";
import type { History } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation, withoutBooks } from "../invariant.ts";

export const noEffectWithoutAcceptance = {
  id: "no-effect-without-acceptance",
  level: "must",
  statement: "An operation that was only ever rejected has no effect",

  check(history: History) {
    if (!history.effects.known) return withoutBooks(history.effects);
    const effects = history.effects.value;
    const violations: Violation[] = [];
    let checked = 0;
    for (const [reference, { allowed, rejections }] of acceptanceByReference(history)) {
      if (rejections.length === 0) continue;
      checked += 1;
      const found = effects.get(reference)?.length ?? 0;
      if (found <= allowed) continue;
      violations.push(
        violation(rejections, {
          message: `${rejections.slice(0, 8).map(name).join(", ")} rejected ${reference}, and the books hold ${found} effect(s) of it`,
          expected: `at most ${allowed} effect(s)`,
          actual: `${found} effect(s) in the books`,
        }),
      );
    }
    return verdictOf(checked, violations, "no operation was rejected in all its attempts");
  },
} as const satisfies Invariant;

/** The promise itself: however often a client retries, the operation takes effect at most once. */
import { name } from "../evidence/answers.ts";
import { nothingRemembered, rememberedReferences } from "../evidence/reference-use.ts";
import type { History } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation, withoutBooks } from "../invariant.ts";

export const atMostOneEffect = {
  id: "at-most-one-effect",
  level: "must",
  statement: "An operation takes effect at most once, however often it is attempted",

  check(history: History) {
    if (!history.effects.known) return withoutBooks(history.effects);
    const effects = history.effects.value;
    const violations: Violation[] = [];
    let checked = 0;
    for (const { reference, operations, attempts } of rememberedReferences(history)) {
      checked += 1;
      const found = effects.get(reference)?.length ?? 0;
      if (found <= operations.length) continue;
      violations.push(
        violation(attempts, {
          message: `${found} effects of ${reference} after ${attempts.length} attempt(s): ${attempts.slice(0, 8).map(name).join(", ")}`,
          expected: `at most ${operations.length} effect(s)`,
          actual: `${found} effects in the books`,
        }),
      );
    }
    return verdictOf(checked, violations, nothingRemembered(history, "no operation was attempted"));
  },
} as const satisfies Invariant;

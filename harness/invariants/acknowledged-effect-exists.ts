/** Finds lost operations: the client was told of a success that the books do not hold. */
import { acknowledgementsByReference, effectsOfAny } from "../evidence/acknowledgement.ts";
import { name } from "../evidence/answers.ts";
import type { History } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation, withoutBooks } from "../invariant.ts";

export const acknowledgedEffectExists = {
  id: "acknowledged-effect-exists",
  level: "must",
  statement: "An operation that was answered with a success took effect",

  check(history: History) {
    if (!history.effects.known) return withoutBooks(history.effects);
    const acknowledged = acknowledgementsByReference(history);
    const violations: Violation[] = [];
    for (const [reference, { witnesses, references }] of acknowledged) {
      const found = effectsOfAny(history.effects.value, references);
      if (found >= witnesses.length) continue;
      violations.push(
        violation(witnesses, {
          message: `${reference} was acknowledged by ${witnesses.map(name).join(", ")}, and the books hold ${found} effect(s) of it`,
          expected: `${witnesses.length} effect(s)`,
          actual: `${found} effect(s) in the books`,
        }),
      );
    }
    return verdictOf(acknowledged.size, violations, "no operation was acknowledged");
  },
} as const satisfies Invariant;

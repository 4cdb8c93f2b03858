/**
 * Finds lost operations: the client was told of a success that the books do not hold, or that the processor, where
 * one had to be called for it, knows nothing of.
 */
import { type Acknowledged, acknowledgementsByReference, effectsOfAny } from "../evidence/acknowledgement.ts";
import { endpointOf, name } from "../evidence/answers.ts";
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
    for (const [reference, operations] of acknowledged) {
      const { witnesses, references } = operations;
      const effects = effectsOfAny(history.effects.value, references);
      const lost =
        effects < witnesses.length ? ([effects, "effect", "the books"] as const) : lackingCharges(history, operations);
      if (lost === null) continue;
      const [found, what, where] = lost;
      violations.push(
        violation(witnesses, {
          message: `${reference} was acknowledged by ${witnesses.map(name).join(", ")}, and ${where} hold ${found} ${what}(s) of it`,
          expected: `${witnesses.length} ${what}(s)`,
          actual: `${found} ${what}(s) in ${where}`,
        }),
      );
    }
    return verdictOf(acknowledged.size, violations, "no operation was acknowledged");
  },
} as const satisfies Invariant;

/** Null: there are enough, or none are needed. */
function lackingCharges(history: History, { witnesses, references }: Acknowledged) {
  const { downstream } = history;
  if (!downstream.known || !witnesses.every((one) => endpointOf(history, one).isDownstream)) return null;
  const charges = [...references].flatMap((reference) => downstream.value.get(reference)?.charges ?? []);
  const found = charges.filter(({ status }) => status === "succeeded").length;
  return found < witnesses.length ? ([found, "charge", "the processor's books"] as const) : null;
}

/** Finds lost operations: the client was told of a success that the books do not hold. */
import { isSuccess, name } from "../answers.ts";
import type { History, Recorded } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation, withoutBooks } from "../invariant.ts";
import { keyIdentity } from "../key-scope.ts";
import type { Attempt } from "../operation.ts";

export const acknowledgedEffectExists = {
  id: "acknowledged-effect-exists",
  level: "must",
  statement: "An operation that was answered with a success took effect",

  check(history: History) {
    if (!history.effects.known) return withoutBooks(history.effects);
    const acknowledged = acknowledgementsByReference(history);
    const violations: Violation[] = [];
    for (const [reference, witnesses] of acknowledged) {
      const found = history.effects.value.get(reference)?.length ?? 0;
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

/**
 * For each reference the first acknowledgement of each of its operations. Operations with one key that the
 * contract does not promise to keep apart count as one: the target may rightly take them for retries.
 */
function acknowledgementsByReference(history: History): ReadonlyMap<string, readonly Recorded[]> {
  const byReference = new Map<string, Map<string, Recorded>>();
  for (const { reference, attempts } of history.operations) {
    const first = attempts.find((recorded) => isSuccess(history, recorded));
    if (first === undefined) continue;
    const known = byReference.get(reference) ?? new Map<string, Recorded>();
    byReference.set(reference, known);
    const identity = identityOf(history, first.attempt);
    if (!known.has(identity)) known.set(identity, first);
  }
  return new Map([...byReference].map(([reference, firsts]) => [reference, [...firsts.values()]]));
}

function identityOf({ contract }: History, { key, operation, caller, endpoint, query }: Attempt): string {
  return key === null ? `operation ${operation}` : keyIdentity(contract, { key, caller, endpoint, query });
}

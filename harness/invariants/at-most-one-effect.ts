/** The promise itself: however often a client retries, the operation takes effect at most once. */
import { name, withinRetention } from "../evidence/answers.ts";
import type { History, OperationRecord } from "../history.ts";
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
    for (const [reference, operations] of byReference(history)) {
      const attempts = operations.flatMap((operation) => operation.attempts);
      if (operations.some((operation) => outlivesRetention(history, operation))) continue;
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
    return verdictOf(checked, violations, "no operation was attempted");
  },
} as const satisfies Invariant;

/** Operations that share a reference on purpose (equal bodies under distinct keys) may take effect once each. */
function byReference(history: History): ReadonlyMap<string, OperationRecord[]> {
  const groups = new Map<string, OperationRecord[]>();
  for (const operation of history.operations) {
    const known = groups.get(operation.reference);
    if (known) known.push(operation);
    else groups.set(operation.reference, [operation]);
  }
  return groups;
}

/** After retention the target may have forgotten the key, and a retry rightly executes again. */
function outlivesRetention({ contract }: History, { attempts }: OperationRecord): boolean {
  return withinRetention(contract, { attempts }).length < attempts.length;
}

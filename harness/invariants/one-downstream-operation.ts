/**
 * What a client wants once is one operation at the processor too: however many processes call it, they all send
 * one key, and the processor's own books show one charge.
 */
import type { Call } from "../account.ts";
import { name } from "../evidence/answers.ts";
import { nothingRemembered, type ReferenceUse, rememberedReferences } from "../evidence/reference-use.ts";
import type { Downstream, History } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation, withoutBooks } from "../invariant.ts";

export const oneDownstreamOperation = {
  id: "one-downstream-operation",
  level: "must",
  statement: "All calls to the processor for one operation carry the same key, and it is charged at most once",

  check(history: History) {
    if (!history.downstream.known) return withoutBooks(history.downstream);
    const violations: Violation[] = [];
    let checked = 0;
    for (const use of rememberedReferences(history)) {
      const downstream = history.downstream.value.get(use.reference);
      const calls = downstream?.calls.filter(({ kind }) => kind === "charge") ?? [];
      if (downstream === undefined || calls.length === 0) continue;
      checked += 1;
      const found = severalCharges(use, downstream) ?? severalKeys(use, calls);
      if (found !== null) violations.push(found);
    }
    return verdictOf(checked, violations, nothingRemembered(history, "the processor was never called"));
  },
} as const satisfies Invariant;

function severalCharges({ reference, operations, attempts }: ReferenceUse, { charges }: Downstream): Violation | null {
  const succeeded = charges.filter(({ status }) => status === "succeeded");
  if (succeeded.length <= operations.length) return null;
  return violation(attempts, {
    message: `the processor charged ${reference} ${succeeded.length} times after ${attempts.length} attempt(s): ${attempts.slice(0, 8).map(name).join(", ")}`,
    expected: `at most ${operations.length} charge(s)`,
    actual: `${succeeded.length} charges in the processor's books`,
  });
}

function severalKeys({ reference, operations, attempts }: ReferenceUse, calls: readonly Call[]): Violation | null {
  const keys = new Set(calls.map(({ key }) => key));
  const isKeyless = keys.has(null);
  if (!isKeyless && keys.size <= operations.length) return null;
  const sent = [...keys].map((key) => (key === null ? "none" : JSON.stringify(key))).join(", ");
  return violation(attempts, {
    message: `the processor was called ${calls.length} time(s) for ${reference}, under these keys: ${sent}`,
    expected: `at most ${operations.length} key(s), and never none`,
    actual: isKeyless ? "a call without a key" : `${keys.size} keys`,
  });
}

/**
 * Whoever calls the processor a second time for one operation has asked it before what became of the first call.
 *
 * The harness sees the processor's account and not what each caller saw of it: a call that was charged may have
 * lost its answer on the way, and one that failed may have been charged. But whatever the first caller saw, a
 * second call is never needed without a question: had the answer arrived there would be nothing left to call
 * for, and had it not, it is unknown and must be asked for. So the sentence can be judged by the account alone.
 *
 * Only for contracts that promise it (`levels`). Most publishers rely on the processor to honour the key that
 * they send again, which is safe as long as it does; there it is reported and fails nothing.
 */
import type { Call } from "../account.ts";
import { name } from "../evidence/answers.ts";
import { nothingRemembered, rememberedReferences } from "../evidence/reference-use.ts";
import type { History } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation, withoutBooks } from "../invariant.ts";

export const noBlindReexecution = {
  id: "no-blind-reexecution",
  level: "info",
  statement: "Between two calls to the processor for one operation it was asked what became of the first",

  check(history: History) {
    if (!history.downstream.known) return withoutBooks(history.downstream);
    const violations: Violation[] = [];
    let checked = 0;
    for (const { reference, operations, attempts } of rememberedReferences(history)) {
      // Of several operations under one reference each calls on its own.
      if (operations.length > 1) continue;
      const calls = inOrderOfArrival(history.downstream.value.get(reference)?.calls ?? []);
      if (!calls.some(({ kind }) => kind === "charge")) continue;
      checked += 1;
      const blind = calls.find(({ kind }, index) => kind === "charge" && calls[index - 1]?.kind === "charge");
      if (blind === undefined) continue;
      violations.push(
        violation(attempts, {
          message: `the processor was called again for ${reference} without being asked before what became of the earlier call: ${calls.map(words).join(", ")}; attempts ${attempts.slice(0, 8).map(name).join(", ")}`,
          expected: "a status query before the second call",
          actual: `a second call, ${blind.result}, after the first`,
        }),
      );
    }
    return verdictOf(checked, violations, nothingRemembered(history, "the processor was never called"));
  },
} as const satisfies Invariant;

/**
 * The account notes a call when it is decided, and whoever comes meanwhile under the same key is told `in-flight`
 * and noted first. So the next decision under that key belongs before those who were told so.
 */
function inOrderOfArrival(noted: readonly Call[]): readonly Call[] {
  const calls: Call[] = [];
  const firstToldAt = new Map<string | null, number>();
  for (const call of noted) {
    const told = firstToldAt.get(call.key);
    if (call.result === "in-flight") {
      if (told === undefined) firstToldAt.set(call.key, calls.length);
      calls.push(call);
    } else if (call.kind === "charge" && told !== undefined) {
      calls.splice(told, 0, call);
      firstToldAt.clear();
    } else calls.push(call);
  }
  return calls;
}

function words({ kind, result }: Call): string {
  return kind === "query" ? `query ${result}` : `call ${result}`;
}

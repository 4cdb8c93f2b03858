/** Finds ghosts: every attempt of an operation was rejected, and the books hold an effect of it nevertheless. */
import { isAnswered, isSuccess, name, withinRetention } from "../evidence/answers.ts";
import type { History, OperationRecord, Recorded } from "../history.ts";
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
    for (const [reference, { allowed, rejections }] of accounts(history)) {
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

/** What the attempts of one reference allow the books to hold. */
interface Account {
  allowed: number;
  /** The first rejection of each operation that was only ever rejected. */
  readonly rejections: Recorded[];
}

function accounts(history: History): ReadonlyMap<string, Account> {
  const byReference = new Map<string, Account>();
  for (const operation of history.operations) {
    const account = byReference.get(operation.reference) ?? { allowed: 0, rejections: [] };
    byReference.set(operation.reference, account);
    const allowed = executionsAllowed(history, operation);
    const rejection = allowed === 0 ? operation.attempts.find(isAnswered) : undefined;
    account.allowed += allowed;
    if (rejection) account.rejections.push(rejection);
  }
  return byReference;
}

/** One for an operation that may have executed; one for each such attempt where no key, or none that still lives, joins them. */
function executionsAllowed(history: History, operation: OperationRecord): number {
  const { attempts } = operation;
  const executions = attempts.filter((recorded) => mayHaveExecuted(history, recorded)).length;
  const isOneExecution =
    attempts.every(({ attempt }) => attempt.key !== null && attempt.malformed === null) &&
    withinRetention(history.contract, operation).length === attempts.length;
  return isOneExecution ? Math.min(executions, 1) : executions;
}

/** Only a 4xx rejects; other statuses that are no success leave open what happened. */
function mayHaveExecuted(history: History, recorded: Recorded): boolean {
  if (recorded.outcome.kind === "refused") return false;
  if (isSuccess(history, recorded) || !isAnswered(recorded)) return true;
  return recorded.outcome.status < 400 || recorded.outcome.status >= 500;
}

/** Operations that were only ever rejected, and what the others allow the books to hold. */
import type { History, OperationRecord, Recorded } from "../history.ts";
import { isAnswered, isSuccess, withinRetention } from "./answers.ts";
import { oncePerHistory } from "./once.ts";

/** What the attempts of one reference allow the books to hold. */
export interface Acceptance {
  allowed: number;
  /** The first rejection of each operation that was only ever rejected. */
  readonly rejections: Recorded[];
}

export const acceptanceByReference = oncePerHistory((history): ReadonlyMap<string, Acceptance> => {
  const byReference = new Map<string, Acceptance>();
  for (const operation of history.operations) {
    const account = byReference.get(operation.reference) ?? { allowed: 0, rejections: [] };
    byReference.set(operation.reference, account);
    const allowed = executionsAllowed(history, operation);
    const rejection = allowed === 0 ? operation.attempts.find(isAnswered) : undefined;
    account.allowed += allowed;
    if (rejection) account.rejections.push(rejection);
  }
  return byReference;
});

/** One for an operation that may have executed; one for each such attempt where no key, or none that still lives, joins them. */
function executionsAllowed(history: History, operation: OperationRecord): number {
  const { attempts, kinds } = operation;
  let executions = 0;
  for (const recorded of attempts) if (mayHaveExecuted(history, recorded)) executions += 1;
  const isOneExecution =
    kinds.every(({ key, malformed }) => key !== null && malformed === null) &&
    withinRetention(history.contract, operation).length === attempts.length;
  return isOneExecution ? Math.min(executions, 1) : executions;
}

/** Only a 4xx rejects; other statuses that are no success leave open what happened. */
function mayHaveExecuted(history: History, recorded: Recorded): boolean {
  if (recorded.outcome.kind === "refused") return false;
  if (isSuccess(history, recorded) || !isAnswered(recorded)) return true;
  return recorded.outcome.status < 400 || recorded.outcome.status >= 500;
}

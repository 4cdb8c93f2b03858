/** Duplicates, and bursts of distinct keys, are ordinary load: no 5xx, no hang, no deadlock of a pool. */
import { isAnswered, isConflict, isMismatch, isServerError, name } from "../evidence/answers.ts";
import { faultReach } from "../evidence/fault-reach.ts";
import { operationIdentity } from "../evidence/key-scope.ts";
import type { History, Recorded } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation } from "../invariant.ts";

const WITNESSES_MAX = 5;

export const duplicatesCauseNoServerError = {
  id: "duplicates-cause-no-server-error",
  level: "must",
  statement: "No attempt that no fault reaches is answered with a server error or left hanging",

  check(history: History) {
    const faults = faultReach(history);
    const askedToFail = keysAskedToFail(history);
    const isStored = storedFailures(history);
    const failed = new Map<string, Recorded[]>();
    let checked = 0;
    for (const recorded of history.attempts) {
      const isOld = isStored(recorded);
      if (isOld || recorded.attempt.condition === "fails" || faults.lastTouching(recorded) !== null) continue;
      const isError = isUnpromisedError(history, recorded);
      if (isAnswered(recorded) && !isError) checked += 1;
      if (!isError && !isHang(recorded)) continue;
      const identity = operationIdentity(history.contract, recorded.attempt);
      if (isError && askedToFail.has(identity)) continue;
      checked += 1;
      const known = failed.get(identity);
      if (known) known.push(recorded);
      else failed.set(identity, [recorded]);
    }
    return verdictOf(checked, [...failed.values()].map(accuse), "no attempt was answered that no fault reached");
  },
} as const satisfies Invariant;

/**
 * Tells whether an attempt got once more, to the letter, the server error that a fault brought on its operation, where
 * the contract lets such answers be stored. Asked in order.
 */
function storedFailures(history: History): (recorded: Recorded) => boolean {
  const { failedBeforeEffect } = history.contract.stored;
  if (failedBeforeEffect !== "undocumented" && !failedBeforeEffect.includes("stored")) return () => false;
  const faults = faultReach(history);
  const known = new Map<string, Set<string>>();
  return (recorded) => {
    if (!isAnswered(recorded) || !isUnpromisedError(history, recorded)) return false;
    const { status, body } = recorded.outcome;
    const answer = `${status} ${body.text}`;
    const identity = operationIdentity(history.contract, recorded.attempt);
    const before = known.get(identity) ?? new Set();
    if (before.has(answer)) return true;
    if (faults.lastTouching(recorded) !== null) known.set(identity, before.add(answer));
    return false;
  };
}

/** A contract may name a 5xx as its answer to duplicates or to another payload. */
function isUnpromisedError({ contract }: History, recorded: Recorded): boolean {
  return isServerError(recorded) && !isConflict(contract, recorded) && !isMismatch(contract, recorded);
}

function isHang({ outcome }: Recorded): boolean {
  return outcome.kind === "indeterminate" && outcome.reason === "timeout";
}

/** What becomes of a failure that was asked for is the error policy's business. */
function keysAskedToFail(history: History): ReadonlySet<string> {
  const asked = history.operations.flatMap(({ kinds }) => kinds.filter(({ condition }) => condition === "fails"));
  return new Set(asked.map((attempt) => operationIdentity(history.contract, attempt)));
}

function accuse(failed: readonly Recorded[]): Violation {
  const witnesses = failed.slice(0, WITNESSES_MAX);
  const more = failed.length > WITNESSES_MAX ? ` and ${failed.length - WITNESSES_MAX} more` : "";
  const hung = failed.filter(isHang).length;
  return violation(witnesses, {
    message: `${failed.length} attempt(s) of ${what(failed)} failed in the target: ${witnesses.map(name).join(", ")}${more}`,
    expected: "an answer below 500",
    actual: `${failed.length - hung} server error(s), ${hung} hung`,
  });
}

function what([first]: readonly Recorded[]): string {
  if (first === undefined) return "no operation";
  return first.attempt.key === null ? `operation ${first.attempt.operation}` : `key ${first.attempt.key}`;
}

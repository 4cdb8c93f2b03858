/** The control group: while a fault is at work elsewhere, keys that it cannot reach are served as ever. */
import { describe, isSuccess, isUnrelatedRefusal, name } from "../evidence/answers.ts";
import { faultReach } from "../evidence/fault-reach.ts";
import { ownGroups } from "../evidence/key-scope.ts";
import { lastTouching, spansOf } from "../evidence/spans.ts";
import type { History, Recorded } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation } from "../invariant.ts";

export const unrelatedKeysAreUnaffected = {
  id: "unrelated-keys-are-unaffected",
  level: "must",
  statement:
    "While a fault strikes one replica or one operation, a request under a key of its own that it does not reach succeeds",

  check(history: History) {
    if (history.faults.length === 0) return verdictOf(0, [], "no fault was at work");
    const atWork = spansOf(history.faults);
    const reach = faultReach(history);
    const violations: Violation[] = [];
    let checked = 0;
    for (const { attempts } of ownGroups(history)) {
      const [only] = attempts;
      if (only === undefined || attempts.length > 1 || !isPlain(only)) continue;
      if (lastTouching(atWork, { invokedAt: only.invokedAt, completedAt: only.invokedAt }) === null) continue;
      if (reach.lastTouching(only) !== null || !isJudged(history, only)) continue;
      checked += 1;
      if (!isSuccess(history, only)) violations.push(accuse(only));
    }
    return verdictOf(checked, violations, "no key of its own was used while a fault was at work elsewhere");
  },
} as const satisfies Invariant;

/** A request that succeeds when nothing is wrong. */
function isPlain({ attempt: { payload, condition } }: Recorded): boolean {
  return payload.kind !== "invalid" && condition !== "fails";
}

/** An answer about the request, or the wait for one that never came. */
function isJudged({ contract }: History, recorded: Recorded): boolean {
  const { outcome } = recorded;
  if (outcome.kind === "indeterminate") return outcome.reason === "timeout";
  return outcome.kind === "responded" && !isUnrelatedRefusal(contract, recorded);
}

function accuse(only: Recorded): Violation {
  return violation([only], {
    message: `${name(only)} had a key of its own on replica ${only.attempt.replica}, a fault was at work elsewhere, and it did not succeed`,
    expected: "a success, as without the fault",
    actual: describe(only.outcome),
  });
}

/** The control group: while one replica stands still, other keys on other replicas are served as ever. */
import { describe, isSuccess, isUnrelatedRefusal, name } from "../evidence/answers.ts";
import { ownGroups } from "../evidence/key-scope.ts";
import { faultSpans, lastTouching, type Spans, spansOf } from "../evidence/spans.ts";
import type { FaultWindow, History, Recorded } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation } from "../invariant.ts";

export const unrelatedKeysAreUnaffected = {
  id: "unrelated-keys-are-unaffected",
  level: "must",
  statement: "While a replica is paused, a request under a key of its own on another replica succeeds",

  check(history: History) {
    const pauses = history.faults.filter(({ fault }) => fault === PAUSE);
    if (pauses.length === 0) return verdictOf(0, [], "no fault was at work");
    const paused = spansOf(pauses);
    const isDisturbed = disturbances(history.faults);
    const violations: Violation[] = [];
    let checked = 0;
    for (const { attempts } of ownGroups(history)) {
      const [only] = attempts;
      if (only === undefined || attempts.length > 1 || !isPlain(only) || isDisturbed(only)) continue;
      if (lastTouching(paused, { invokedAt: only.invokedAt, completedAt: only.invokedAt }) === null) continue;
      if (!isJudged(history, only)) continue;
      checked += 1;
      if (!isSuccess(history, only)) violations.push(accuse(only));
    }
    return verdictOf(checked, violations, "no key of its own was used while a replica was paused");
  },
} as const satisfies Invariant;

const PAUSE = "pause-replica";

/** What excuses an attempt: a pause of its own replica, or a fault of any other kind. */
function disturbances(faults: readonly FaultWindow[]): (recorded: Recorded) => boolean {
  const others = faults.filter(({ fault }) => fault !== PAUSE);
  const everywhere = faultSpans(others);
  const byReplica = new Map<number, Spans>();
  for (const { replica } of faults) {
    if (replica === null || byReplica.has(replica)) continue;
    const own = faults.filter((window) => window.fault === PAUSE && window.replica === replica);
    byReplica.set(replica, faultSpans([...others, ...own]));
  }
  return (recorded) => lastTouching(byReplica.get(recorded.attempt.replica) ?? everywhere, recorded) !== null;
}

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
    message: `${name(only)} had a key of its own on replica ${only.attempt.replica} while another replica was paused, and did not succeed`,
    expected: "a success, as without the fault",
    actual: describe(only.outcome),
  });
}

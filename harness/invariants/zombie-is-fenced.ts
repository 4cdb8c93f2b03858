/** A holder that outlived its lease wakes up to a key that is no longer its own, and can finish nothing. */
import { otherAnswer } from "../evidence/answer-difference.ts";
import { isAnswered, isSuccess, name } from "../evidence/answers.ts";
import { withoutConflicts } from "../evidence/conflict.ts";
import { isRemembered, type Takeover, takeoversOf } from "../evidence/takeover.ts";
import type { History } from "../history.ts";
import { type Invariant, undocumented, type Violation, verdictOf, violation } from "../invariant.ts";

export const zombieIsFenced = {
  id: "zombie-is-fenced",
  level: "must",
  statement: "The old holder of a lease that was taken over can finish nothing when it wakes up",

  check(history: History) {
    if (history.contract.leaseMs === "undocumented") return undocumented("the lease");
    const silent = withoutConflicts(history.contract);
    if (silent !== null) return silent;
    const violations: Violation[] = [];
    let checked = 0;
    for (const takeover of takeoversOf(history)) {
      if (takeover.kind !== "paused" && takeover.kind !== "delayed") continue;
      const counts = effectsOf(history, takeover);
      if (counts === null && !takeover.holders.some(isAnswered)) continue;
      checked += 1;
      const found = answeredOtherwise(history, takeover) ?? lateEffect(takeover, counts);
      if (found !== null) violations.push(found);
    }
    return verdictOf(checked, violations, "no holder of a lease that was taken over was seen to wake up");
  },
} as const satisfies Invariant;

interface Counts {
  readonly during: number;
  readonly final: number;
}

/**
 * How many effects the taker's reference had during the pause and has at last; null where that cannot be
 * compared. The taker's own effect counts as read during the pause, since the reading may have begun before.
 */
function effectsOf(history: History, takeover: Takeover): Counts | null {
  const { taker, observed } = takeover;
  const { reference } = taker.attempt;
  if (!history.effects.known || observed === null || !isRemembered(history, takeover)) return null;
  if (history.operations.filter((operation) => operation.reference === reference).length > 1) return null;
  return {
    during: Math.max(1, observed.effects.get(reference)?.length ?? 0),
    final: history.effects.value.get(reference)?.length ?? 0,
  };
}

function answeredOtherwise(history: History, { holders, taker, kind }: Takeover): Violation | null {
  for (const holder of holders) {
    if (!isSuccess(history, holder)) continue;
    const found = otherAnswer(taker.outcome, holder.outcome, history.contract);
    if (found === null) continue;
    return violation([taker, holder], {
      message: `${name(holder)} was ${kind} and lost its key to ${name(taker)}, and when it woke up it answered with another ${found.what}`,
      expected: found.expected,
      actual: found.actual,
    });
  }
  return null;
}

function lateEffect({ holders: [holder], taker }: Takeover, counts: Counts | null): Violation | null {
  if (counts === null || holder === undefined || counts.final <= counts.during) return null;
  return violation([taker, holder], {
    message: `${name(holder)} was paused and lost its key to ${name(taker)}: its old holder took effect after it woke up`,
    expected: `${counts.during} effect(s) of ${taker.attempt.reference}, as during the pause`,
    actual: `${counts.final} effects in the books`,
  });
}

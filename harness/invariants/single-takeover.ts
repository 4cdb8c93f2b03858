/** Of all who wait for an expired lease one gets it. */
import { bodyDifference, sayOther } from "../evidence/answer-difference.ts";
import { type Answered, isAnswered, isMarkedReplay, name } from "../evidence/answers.ts";
import { withoutConflicts } from "../evidence/conflict.ts";
import { isRemembered, type Takeover, takeoversOf } from "../evidence/takeover.ts";
import type { History } from "../history.ts";
import { type Invariant, undocumented, type Violation, verdictOf, violation } from "../invariant.ts";

export const singleTakeover = {
  id: "single-takeover",
  level: "must",
  statement: "An expired lease is taken over once",

  check(history: History) {
    const { contract } = history;
    if (contract.leaseMs === "undocumented") return undocumented("the lease");
    const silent = withoutConflicts(contract);
    if (silent !== null) return silent;
    const marksReplays = hasMarkedReplay(history);
    const canCompare = marksReplays || contract.replay.body === "verbatim";
    const operations = operationsByReference(history);
    const violations: Violation[] = [];
    let checked = 0;
    for (const takeover of takeoversOf(history)) {
      const readsBooks = takeover.observed !== null && isRemembered(history, takeover);
      if (!readsBooks && !(canCompare && takeover.successes.length > 1)) continue;
      checked += 1;
      const found =
        (readsBooks ? twoEffects(takeover, operations) : null) ?? twoAnswers(history, takeover, marksReplays);
      if (found !== null) violations.push(found);
    }
    return verdictOf(checked, violations, "no lease was seen to be taken over");
  },
} as const satisfies Invariant;

/** How many operations have a reference: so many effects of it are right. */
function operationsByReference({ operations }: History): ReadonlyMap<string, number> {
  const count = new Map<string, number>();
  for (const { reference } of operations) count.set(reference, (count.get(reference) ?? 0) + 1);
  return count;
}

function twoEffects(
  { group, holders, taker, observed }: Takeover,
  operations: ReadonlyMap<string, number>,
): Violation | null {
  for (const reference of new Set(group.attempts.map(({ attempt }) => attempt.reference))) {
    const found = observed?.effects.get(reference)?.length ?? 0;
    const allowed = operations.get(reference) ?? 1;
    if (found <= allowed) continue;
    return violation([...holders.slice(0, 1), taker], {
      message: `while the holder ${holders[0]?.attempt.id} was paused its key was taken over, as ${name(taker)} shows, and the books then held ${found} effects of ${reference}`,
      expected: `at most ${allowed} effect(s) of ${reference} during the pause`,
      actual: `${found} effects in the books`,
    });
  }
  return null;
}

/**
 * Two answers that say different things, or that say of themselves that they are first ones. That a marker is missing is
 * evidence only where this target does mark replays.
 */
function twoAnswers(
  { contract }: History,
  { taker, successes, kind }: Takeover,
  marksReplays: boolean,
): Violation | null {
  const isVerbatim = contract.replay.body === "verbatim";
  const other = successes.find(({ outcome }) => isVerbatim && sayOther(outcome.body, taker.outcome.body));
  if (other !== undefined) {
    const { expected, actual } = bodyDifference(taker.outcome.body, other.outcome.body);
    return accuse(kind, taker, other, expected, actual);
  }
  const [first, second] = successes.filter((one) => isMarkedReplay(contract, one) === false);
  if (!marksReplays || first === undefined || second === undefined) return null;
  return accuse(kind, first, second, "one answer that is no replay", "two answers that are not marked as replays");
}

function hasMarkedReplay({ contract, attempts }: History): boolean {
  return attempts.some((one) => isAnswered(one) && isMarkedReplay(contract, one) === true);
}

function accuse(kind: Takeover["kind"], one: Answered, other: Answered, expected: string, actual: string): Violation {
  const message = `while the holder of their key was ${kind}, ${name(one)} and ${name(other)} were both executed`;
  return violation([one, other], { message, expected, actual });
}

/**
 * Each field that affects the outcome is part of the fingerprint: changing it alone under a used key is a
 * mismatch. So are the pairs that the target's file lists because they look alike and are not.
 */

import type { AnswerPattern } from "../contract.ts";
import {
  type Answered,
  excerpt,
  isAnswered,
  isMismatch,
  isSuccess,
  isValidationError,
  name,
  patternsText,
  withinRetention,
} from "../evidence/answers.ts";
import { hasOrdinaryKey, isAfter, ownerOf } from "../evidence/key-group.ts";
import type { History, Recorded } from "../history.ts";
import { type Invariant, undocumented, type Verdict, type Violation, verdictOf, violation } from "../invariant.ts";

export const everyOutcomeFieldIsFingerprinted = {
  id: "every-outcome-field-is-fingerprinted",
  level: "must",
  statement: "Changing any one field that affects the outcome, under a used key, is a mismatch",

  check(history: History): Verdict {
    const { fingerprint, mismatch } = history.contract;
    if (fingerprint === "none") {
      return { result: "skip", reason: "by the contract only the key counts, not the payload", excused: true };
    }
    if (fingerprint === "undocumented") return undocumented("the fingerprint");
    if (mismatch === "undocumented") return undocumented("the answer to a mismatch");
    const tries = triesOf(history, mismatch);
    const violations = tries.flatMap(({ violation }) => violation ?? []);
    const neverValid = tries.filter(({ judged, open }) => judged === 0 && open === 0);
    if (violations.length === 0 && neverValid.length > 0) return { result: "inconclusive", reason: advice(neverValid) };
    const checked = tries.reduce((sum, { judged }) => sum + judged, 0);
    return verdictOf(checked, violations, "no field was changed alone after its request had succeeded");
  },
} as const satisfies Invariant;

/** What became of changing one thing, over all keys on which it was tried. */
interface Tries {
  /** As a sentence begins: `changing /amount alone`. */
  readonly what: string;
  /** What to write in the target's file when the changed request is never valid. */
  readonly advice: string;
  judged: number;
  /** Neither judged nor refused as invalid: conflicts, failures. */
  open: number;
  violation: Violation | null;
}

function triesOf(history: History, mismatch: readonly AnswerPattern[]): readonly Tries[] {
  const byWhat = new Map<string, Tries>();
  for (const group of history.groups) {
    // Attempts of one kind differ in no field.
    const owner = group.kinds.length > 1 && hasOrdinaryKey(group) ? ownerOf(history, group) : null;
    if (owner === null) continue;
    for (const later of withinRetention(history.contract, group)) {
      const change = isAfter(later, owner) && isAnswered(later) ? changeBetween(owner, later) : null;
      if (change === null || !isAnswered(later)) continue;
      const what = `${change.what} of ${group.endpoint}`;
      const tries = byWhat.get(what) ?? { ...change, judged: 0, open: 0, violation: null };
      byWhat.set(what, tries);
      count(history, tries, owner, later, mismatch);
    }
  }
  return [...byWhat.values()];
}

/** The one thing in which a request differs from the owner's, if it is one that the target's file names. */
function changeBetween(owner: Recorded, later: Recorded): Pick<Tries, "what" | "advice"> | null {
  const { payload: first, reference } = owner.attempt;
  const { payload: second, endpoint } = later.attempt;
  // Another reference would be another difference, and the mismatch could be due to that one.
  if (later.attempt.reference !== reference) return null;
  if (second.kind === "changed" && (first.kind === "original" || first.kind === "spelling")) {
    const { field } = second;
    const advice = `every try of another ${field} of ${endpoint} was refused as invalid: give another valid value in \`outcome\``;
    return { what: `changing ${field} alone`, advice };
  }
  if (second.kind !== "pair" || first.kind !== "pair") return null;
  if (second.index !== first.index || second.side === first.side) return null;
  const pair = `pair ${second.index + 1}`;
  const advice = `${pair} of ${endpoint} was refused as invalid every time: give two valid requests in \`different\``;
  return { what: `the ${second.side} request of ${pair}`, advice };
}

function count(
  history: History,
  tries: Tries,
  owner: Answered,
  later: Recorded,
  mismatch: readonly AnswerPattern[],
): void {
  if (isMismatch(history.contract, later)) tries.judged += 1;
  else if (isSuccess(history, later)) {
    tries.judged += 1;
    tries.violation ??= violation([owner, later], {
      message: `${tries.what} was answered as the same request: ${name(later)} after ${name(owner)}`,
      expected: patternsText(mismatch),
      actual: `${later.outcome.status} ${excerpt(later.outcome.body.text)}`,
    });
  } else if (!isValidationError(history, later)) tries.open += 1;
}

function advice(tries: readonly Tries[]): string {
  return tries.map((one) => one.advice).join("; ");
}

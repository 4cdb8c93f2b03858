/** Within retention the answer is there, also late in it; after it the key stands for a new operation, or for none. */
import { saySame } from "../evidence/answer-difference.ts";
import { type Answered, excerptAround, firstSuccess, isMarkedReplay, isSuccess, name } from "../evidence/answers.ts";
import { ownGroups, requestOf } from "../evidence/key-scope.ts";
import { deviation, isAboutItsKey } from "../evidence/owner.ts";
import { lastTouching, type Spans, spansOf } from "../evidence/spans.ts";
import type { History, KeyGroup, Recorded } from "../history.ts";
import { type Invariant, undocumented, type Violation, verdictOf, violation } from "../invariant.ts";
import type { Micros } from "../operation.ts";

/** The target's clock is another one, and its cleaner comes round at times. */
const AFTER_MARGIN_MS = 250;

export const retentionIsKept = {
  id: "retention-is-kept",
  level: "must",
  statement: "A key's answer is replayed until its retention ends, and after that the key is treated as promised",

  check(history: History) {
    const { retentionMs } = history.contract;
    if (retentionMs === "undocumented") return undocumented("the retention");
    const faults = spansOf(history.faults);
    const violations: Violation[] = [];
    let checked = 0;
    for (const group of ownGroups(history)) {
      const original = firstSuccess(history, group.attempts);
      if (original === null) continue;
      const late = lateRetries(history, group, original, retentionMs * 1000).filter((one) =>
        isUndisturbed(faults, original, one),
      );
      const after = laterOperations(history, group, original, retentionMs * 1000);
      checked += late.length + after.length;
      const found = firstLost(history, original, late) ?? firstWronglyTreated(history, original, after);
      if (found !== null) violations.push(found);
    }
    return verdictOf(checked, violations, "no key was used late in its retention or after it");
  },
} as const satisfies Invariant;

/**
 * Retries in the second half of the retention, answered before it can have ended, of a key that still had its
 * answer. What it had lost before, or never had for itself, it did not lose to time.
 */
function lateRetries(
  history: History,
  { attempts }: KeyGroup,
  original: Answered,
  retention: Micros,
): readonly Answered[] {
  const start = attempts[0]?.invokedAt ?? 0;
  if ((attempts.at(-1)?.invokedAt ?? 0) <= start + retention / 2 || !wasAlone(attempts, original)) return [];
  const request = requestOf(history.contract, original.attempt);
  const same = attempts.filter(
    (one): one is Answered =>
      one.invokedAt > original.completedAt &&
      one.attempt.condition !== "fails" &&
      requestOf(history.contract, one.attempt) === request &&
      isAboutItsKey(history, one),
  );
  const lostAt = lossOf(history, original, same);
  const meddledAt = firstOtherRequest(history, attempts, request);
  return same.filter(
    ({ invokedAt, completedAt }) =>
      invokedAt > start + retention / 2 &&
      completedAt < start + retention &&
      invokedAt <= lostAt &&
      completedAt < meddledAt,
  );
}

/** No fault was at work from the one to the other: it would explain a loss better than time does. */
function isUndisturbed(faults: Spans, { invokedAt }: Answered, { completedAt }: Answered): boolean {
  return lastTouching(faults, { invokedAt, completedAt }) === null;
}

/** What another request under the key may have done to its answer is no work of time either. */
function firstOtherRequest({ contract }: History, attempts: readonly Recorded[], request: string): Micros {
  const other = attempts.find(
    ({ attempt, outcome }) => outcome.kind !== "refused" && requestOf(contract, attempt) !== request,
  );
  return other?.invokedAt ?? Infinity;
}

/** Nothing else was sent with the key until the original had its answer: no other attempt can have had one too. */
function wasAlone(attempts: readonly Recorded[], original: Answered): boolean {
  return attempts.every(
    (one) => one === original || one.invokedAt > original.completedAt || one.outcome.kind === "refused",
  );
}

/** When another answer was first received. */
function lossOf(history: History, original: Answered, same: readonly Answered[]): Micros {
  const others = same.filter((one) => deviation(history, original, one) !== null);
  return others.reduce((earliest, { completedAt }) => Math.min(earliest, completedAt), Infinity);
}

function firstLost(history: History, original: Answered, late: readonly Answered[]): Violation | null {
  for (const one of late) {
    const found = deviation(history, original, one);
    if (found === null) continue;
    return violation([original, one], {
      message: `${name(one)} came within retention and did not get the answer of ${name(original)}: another ${found.what}`,
      expected: found.expected,
      actual: found.actual,
    });
  }
  return null;
}

/** The first answer of an operation that came when the key had been left alone for a whole retention. */
interface LaterOperation {
  readonly answer: Answered;
  /** The operation's first attempt, and no other was in flight: nothing else explains the answer. */
  readonly isAlone: boolean;
}

function laterOperations(
  history: History,
  group: KeyGroup,
  original: Answered,
  retention: Micros,
): readonly LaterOperation[] {
  if (history.contract.afterRetention === "undocumented") return [];
  const pause = retention + AFTER_MARGIN_MS * 1000;
  // Mostly it was never left alone for so long, and then nothing that came after the original began a use.
  if (!wasLeftAlone(group, pause) && original.invokedAt <= original.completedAt) return [];
  const seen = new Set([original.attempt.operation]);
  const later: LaterOperation[] = [];
  for (const uses of usesOf(group, pause)) {
    const [first] = uses;
    const isNew = first !== undefined && first.invokedAt > original.completedAt && !seen.has(first.attempt.operation);
    const found = isNew ? firstAnswer(history, first, uses) : null;
    if (found !== null) later.push(found);
    for (const { attempt } of uses) seen.add(attempt.operation);
  }
  return later;
}

/** The attempts of a key, parted wherever it was certainly left alone for so long. */
function usesOf({ attempts }: KeyGroup, pause: Micros): readonly (readonly Recorded[])[] {
  const uses: Recorded[][] = [];
  let usedUntil = -Infinity;
  for (const one of attempts) {
    if (one.outcome.kind === "refused") continue;
    const current = uses.at(-1);
    if (current === undefined || one.invokedAt > usedUntil + pause) uses.push([one]);
    else current.push(one);
    usedUntil = Math.max(usedUntil, useEndOf(one));
  }
  return uses;
}

function wasLeftAlone({ attempts }: KeyGroup, pause: Micros): boolean {
  let usedUntil = Infinity;
  for (const one of attempts) {
    if (one.outcome.kind === "refused") continue;
    if (one.invokedAt > usedUntil + pause) return true;
    usedUntil = usedUntil === Infinity ? useEndOf(one) : Math.max(usedUntil, useEndOf(one));
    if (usedUntil === Infinity) return false;
  }
  return false;
}

/** What never answered may still have the key. */
function useEndOf({ outcome, completedAt }: Recorded): Micros {
  return outcome.kind === "responded" ? completedAt : Infinity;
}

function firstAnswer(history: History, first: Recorded, uses: readonly Recorded[]): LaterOperation | null {
  const own = uses.filter(({ attempt }) => attempt.operation === first.attempt.operation);
  const answer = own.reduce((one, other) => (other.completedAt < one.completedAt ? other : one), first);
  const { payload, condition } = answer.attempt;
  if (payload.kind === "invalid" || condition === "fails" || !isAboutItsKey(history, answer)) return null;
  const others = uses.filter((one) => one !== answer && one.invokedAt <= answer.completedAt);
  if (others.some(({ attempt }) => attempt.operation !== first.attempt.operation)) return null;
  const isAlone = others.length === 0;
  return isAlone || isSuccess(history, answer) ? { answer, isAlone } : null;
}

function firstWronglyTreated(history: History, original: Answered, later: readonly LaterOperation[]): Violation | null {
  for (const { answer, isAlone } of later) {
    const isOld = isOldAnswer(history, original, answer, isAlone);
    if (isPromised(history, answer, isOld)) continue;
    return violation([original, answer], {
      message: `${name(answer)} used the key of ${name(original)} after its retention${isOld ? ", and got the old answer" : ""}`,
      expected: promiseText(history),
      actual: isOld
        ? `the old answer, ${excerptAround(answer.outcome.body.text, original.attempt.reference)}`
        : name(answer),
    });
  }
  return null;
}

function isPromised(history: History, answer: Answered, isOld: boolean): boolean {
  const { afterRetention } = history.contract;
  const { status } = answer.outcome;
  if (isSuccess(history, answer)) return !isOld && afterRetention.includes("new");
  return status >= 400 && afterRetention.includes("refused");
}

/** It says that it is a replay, which it has nothing of its own to be of; or it names the first operation. */
function isOldAnswer({ contract }: History, original: Answered, answer: Answered, isAlone: boolean): boolean {
  if (isAlone && isMarkedReplay(contract, answer) === true) return true;
  const { reference } = original.attempt;
  const { body } = answer.outcome;
  return (
    reference !== answer.attempt.reference && saySame(body, original.outcome.body) && body.text.includes(reference)
  );
}

function promiseText({ contract: { afterRetention } }: History): string {
  const texts = { new: "a success of its own", refused: "a refusal" };
  return afterRetention === "undocumented" ? "" : afterRetention.map((one) => texts[one]).join(", or ");
}

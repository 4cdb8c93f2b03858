/** After an error the key is kept or free, as the contract says for that class of errors. */

import type { Contract, Storage } from "../contract.ts";
import { difference } from "../evidence/answer-difference.ts";
import {
  type Answered,
  describe,
  isConflict,
  isMismatch,
  isServerError,
  isSuccess,
  name,
  withinRetention,
} from "../evidence/answers.ts";
import { isRefusedAsInvalid } from "../evidence/conflict.ts";
import { faultReach } from "../evidence/fault-reach.ts";
import { ownGroups, requestOf } from "../evidence/key-scope.ts";
import { isAboutItsKey } from "../evidence/owner.ts";
import { lastTouching, type Span, spansOf } from "../evidence/spans.ts";
import type { History, KeyGroup, Recorded } from "../history.ts";
import { type Invariant, undocumented, type Verdict, type Violation, verdictOf, violation } from "../invariant.ts";

export const errorPolicyIsKept = {
  id: "error-policy-is-kept",
  level: "must",
  statement:
    "After a validation error, a decline or a failure before any effect the key is stored or released, as promised",

  check(history: History) {
    const { stored } = history.contract;
    if (Object.values(stored).every((storage) => storage === "undocumented")) {
      return undocumented("what becomes of a key after an error");
    }
    const policies: Policies = {
      validation: theOnly(stored.validation),
      failure: theOnly(stored.failedBeforeEffect),
      decline: theOnly(stored.declined),
    };
    const violations: Violation[] = [];
    let checked = 0;
    for (const group of ownGroups(history)) {
      for (const trial of trialsOf(history, group, policies)) {
        if (trial === null) continue;
        checked += trial.judged.length;
        const broken = trial.judged.find((later) => !trial.keeps(later));
        if (broken !== undefined) violations.push(accuse(history.contract, trial, broken));
      }
    }
    if (checked === 0 && isLeftOpen(history, policies)) return LEFT_OPEN;
    return verdictOf(checked, violations, "no key was used again after an error");
  },
} as const satisfies Invariant;

type Policy = "stored" | "released";

interface Policies {
  readonly validation: Policy | null;
  readonly failure: Policy | null;
  readonly decline: Policy | null;
}

/** An error, the attempts after it, and whether one of them kept the promise. */
interface Trial {
  readonly error: Answered;
  readonly judged: readonly Answered[];
  readonly expected: string;
  keeps(later: Answered): boolean;
}

/** Null where the contract is silent or allows both: then every answer keeps the promise. */
function theOnly(storage: Storage): Policy | null {
  return storage !== "undocumented" && storage.length === 1 ? (storage[0] ?? null) : null;
}

const LEFT_OPEN: Verdict = {
  result: "skip",
  reason: "the contract leaves it open what becomes of a key after the errors that occurred",
  excused: true,
};

function isLeftOpen(history: History, { validation, failure, decline }: Policies): boolean {
  return history.operations.some(({ kinds }) =>
    kinds.some(
      ({ payload, condition, reference }) =>
        (validation === null && payload.kind === "invalid") ||
        (failure === null && condition === "fails") ||
        (decline === null && wasDeclined(history, reference)),
    ),
  );
}

function trialsOf(
  history: History,
  group: KeyGroup,
  { validation, failure, decline }: Policies,
): readonly (Trial | null)[] {
  return [
    afterInvalid(history, group, validation),
    afterFailure(history, group, failure),
    afterDecline(history, group, decline),
  ];
}

function afterInvalid(history: History, group: KeyGroup, policy: Policy | null): Trial | null {
  const { contract } = history;
  if (policy === null || !group.kinds.some(({ payload }) => payload.kind === "invalid")) return null;
  const attempts = withinRetention(contract, group);
  const error = firstCompleted(attempts, (one): one is Answered => isInvalidAnswer(history, one));
  if (error === null || !ownsItsKey(contract, group, error)) return null;
  const later = attempts.filter((one): one is Answered => isLater(one, error) && isAboutItsKey(history, one));
  const isSame = (one: Recorded): boolean => asksTheSame(contract, one, error);
  if (policy === "released") return executed(history, group, error, later.filter(isCorrected));
  return {
    error,
    judged: later.filter((one) => isSame(one) || isCorrected(one)),
    expected: `the stored ${describe(error.outcome)} again, and no success for a corrected request`,
    keeps: (one) => (isSame(one) ? isEqual(contract, error, one) : !isSuccess(history, one)),
  };
}

/** A validation error that cannot be a conflict as well. */
function isInvalidAnswer(history: History, recorded: Recorded): recorded is Answered {
  return isRefusedAsInvalid(history, recorded) && !isConflict(history.contract, recorded);
}

/** Nothing else was asked under the key until then, so the answer was about the request and not about the key. */
function ownsItsKey(contract: Contract, { attempts }: KeyGroup, error: Answered): boolean {
  return attempts.every((one) => one.invokedAt > error.completedAt || asksTheSame(contract, one, error));
}

/** The corrected request found a free key: it is executed, unless others wanted the key at that moment. */
function executed(history: History, group: KeyGroup, error: Answered, corrected: readonly Answered[]): Trial | null {
  const { contract } = history;
  const [first] = corrected;
  if (first === undefined) return null;
  const same = corrected.filter((one) => asksTheSame(contract, one, first));
  const rivals = group.attempts.filter((one) => !asksTheSame(contract, one, first));
  const taken = spansOf(rivals.flatMap((rival) => claimOf(history, rival, error)));
  return {
    error,
    judged: same.filter((one) => !isConflict(contract, one) && lastTouching(taken, one) === null),
    expected: "a success, since a validation error releases its key",
    keeps: (one) => isSuccess(history, one),
  };
}

/** For how long a rival may have the key. The invalid request leaves it free again; any other may have won it. */
function claimOf(history: History, rival: Recorded, error: Answered): readonly Span[] {
  if (rival.outcome.kind === "refused") return [];
  const leavesItFree = asksTheSame(history.contract, rival, error) && isInvalidAnswer(history, rival);
  return [{ from: rival.invokedAt, until: leavesItFree ? rival.completedAt : Infinity }];
}

function afterFailure(history: History, group: KeyGroup, policy: Policy | null): Trial | null {
  const { contract } = history;
  if (policy === null || !group.kinds.some(({ condition }) => condition === "fails")) return null;
  const attempts = withinRetention(contract, group);
  const error = firstCompleted(attempts, (one): one is Answered => wasToFail(one) && isServerError(one));
  if (error === null) return null;
  const later = attempts.filter(
    (one): one is Answered =>
      isLater(one, error) &&
      asksTheSame(contract, one, error) &&
      (isServerError(one) || isAboutItsKey(history, one)) &&
      faultReach(history).lastTouching(one) === null,
  );
  return policy === "stored" ? repeated(contract, group, error, later) : unburdened(history, group, error, later);
}

/** The failure is the answer from now on, if it was the first of its key and alone. */
function repeated(contract: Contract, group: KeyGroup, error: Answered, later: readonly Answered[]): Trial | null {
  const [first, second] = group.attempts;
  if (first !== error || (second !== undefined && second.invokedAt <= error.completedAt)) return null;
  return {
    error,
    judged: later,
    expected: `the stored ${describe(error.outcome)} again`,
    keeps: (one) => isEqual(contract, error, one),
  };
}

/** The failure is forgotten. A retry that meets another one that was asked to fail may share its fate. */
function unburdened(history: History, group: KeyGroup, error: Answered, later: readonly Answered[]): Trial {
  const failing = spansOf(group.attempts.filter(wasToFail).map(atMost));
  return {
    error,
    judged: later.filter(
      (one) => (isServerError(one) && lastTouching(failing, one) === null) || isSuccess(history, one),
    ),
    expected: "no server error, since a failure before any effect releases its key",
    keeps: (one) => !isServerError(one),
  };
}

/**
 * A decline is a decision: whoever retries is told of it again, and no second call is made that may end otherwise.
 * That the processor declined is known from its account; what the client was told of it, from the first final
 * refusal.
 */
function afterDecline(history: History, group: KeyGroup, policy: Policy | null): Trial | null {
  const { contract } = history;
  if (policy !== "stored" || !group.kinds.every(({ reference }) => wasDeclined(history, reference))) {
    return null;
  }
  const attempts = withinRetention(contract, group);
  const error = firstCompleted(attempts, (one): one is Answered => isDeclineAnswer(history, one));
  if (error === null || !ownsItsKey(contract, group, error)) return null;
  return {
    error,
    judged: attempts.filter(
      (one): one is Answered => isLater(one, error) && asksTheSame(contract, one, error) && isAboutItsKey(history, one),
    ),
    expected: `the stored ${describe(error.outcome)} again, since the processor declined for good`,
    keeps: (one) => isEqual(contract, error, one),
  };
}

/** The processor's first decision was to decline. */
function wasDeclined({ downstream }: History, reference: string): boolean {
  if (!downstream.known) return false;
  const calls = downstream.value.get(reference)?.calls ?? [];
  return calls.find(({ result }) => result === "charged" || result === "declined")?.result === "declined";
}

function isDeclineAnswer(history: History, one: Recorded): one is Answered {
  const { contract } = history;
  return (
    isAboutItsKey(history, one) &&
    one.outcome.status >= 400 &&
    !isSuccess(history, one) &&
    !isConflict(contract, one) &&
    !isMismatch(contract, one) &&
    !isRefusedAsInvalid(history, one)
  );
}

/** From its invocation to the last moment at which it can still be at work. */
function atMost({ invokedAt, completedAt, outcome }: Recorded): Span {
  return { from: invokedAt, until: outcome.kind === "indeterminate" ? Infinity : completedAt };
}

function wasToFail({ attempt }: Recorded): boolean {
  return attempt.condition === "fails";
}

function isCorrected({ attempt: { payload } }: Recorded): boolean {
  return payload.kind === "original" || payload.kind === "spelling";
}

function isLater(one: Recorded, error: Answered): boolean {
  return one.invokedAt > error.completedAt && !wasToFail(one);
}

function asksTheSame(contract: Contract, one: Recorded, other: Recorded): boolean {
  return requestOf(contract, one.attempt) === requestOf(contract, other.attempt);
}

function isEqual(contract: Contract, error: Answered, later: Answered): boolean {
  return difference(error.outcome, later.outcome, contract, []) === null;
}

function firstCompleted(
  attempts: readonly Recorded[],
  isWanted: (recorded: Recorded) => recorded is Answered,
): Answered | null {
  let first: Answered | null = null;
  for (const one of attempts) {
    if (isWanted(one) && (first === null || one.completedAt < first.completedAt)) first = one;
  }
  return first;
}

function accuse(contract: Contract, { error, expected }: Trial, broken: Answered): Violation {
  const found =
    error.outcome.status === broken.outcome.status ? difference(error.outcome, broken.outcome, contract, []) : null;
  return violation([error, broken], {
    message: `after ${name(error)} the key was used again, and ${name(broken)} is not what the contract promises`,
    expected,
    actual: found === null ? name(broken) : `${name(broken)} with another ${found.what}: ${found.actual}`,
  });
}

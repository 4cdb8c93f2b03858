/** Answers that certainly say "your duplicate is in flight", with everything that was sent under the same key text. */

import type { Contract } from "../contract.ts";
import type { History, Recorded } from "../history.ts";
import { undocumented, type Verdict } from "../invariant.ts";
import { type Answered, isConflict, isMismatch, isSuccess, isValidationError } from "./answers.ts";
import { keyText, requestOf } from "./key-scope.ts";
import { oncePerHistory } from "./once.ts";

/** Everything sent with one key, by whomever and wherever: more than the target may confuse, on purpose. */
export interface KeyUse {
  readonly key: string;
  /** In order of invocation. */
  readonly attempts: readonly Recorded[];
  /** One request of one caller to one endpoint: no answer can mean that the key belongs to another. */
  readonly standsForOne: boolean;
  readonly conflicts: readonly Answered[];
  readonly others: readonly Recorded[];
}

/** Why no answer of this contract can be told to be a conflict, or null. */
export function withoutConflicts({ inFlight: { answers } }: Contract): Verdict | null {
  if (answers === "undocumented") return undocumented("the answer while in flight");
  if (answers.length > 0) return null;
  return {
    result: "skip",
    reason: "by the contract duplicates in flight are held back and never refused",
    excused: true,
  };
}

export const keyUses = oncePerHistory((history): readonly KeyUse[] => {
  const byText = new Map<string, Recorded[]>();
  for (const recorded of history.attempts) {
    if (recorded.attempt.key === null) continue;
    const text = keyText(history.contract, recorded.attempt.key);
    const known = byText.get(text);
    if (known) known.push(recorded);
    else byText.set(text, [recorded]);
  }
  return [...byText].map(([key, attempts]) => keyUse(history, key, attempts));
});

function keyUse(history: History, key: string, attempts: readonly Recorded[]): KeyUse {
  const standsForOne = isOneRequest(history, attempts);
  const conflicts: Answered[] = [];
  const others: Recorded[] = [];
  for (const recorded of attempts) {
    if (isCertainConflict(history, standsForOne, recorded)) conflicts.push(recorded);
    else others.push(recorded);
  }
  return { key, attempts, standsForOne, conflicts, others };
}

function isOneRequest({ contract }: History, attempts: readonly Recorded[]): boolean {
  const [first] = attempts;
  return attempts.every(
    ({ attempt }) =>
      first !== undefined &&
      attempt.caller === first.attempt.caller &&
      attempt.endpoint === first.attempt.endpoint &&
      attempt.query === first.attempt.query &&
      requestOf(contract, attempt) === requestOf(contract, first.attempt),
  );
}

/** Many publishers give one status several meanings; an answer that can mean something else is not judged. */
function isCertainConflict(history: History, standsForOne: boolean, recorded: Recorded): recorded is Answered {
  return (
    isConflict(history.contract, recorded) &&
    recorded.attempt.malformed === null &&
    !isSuccess(history, recorded) &&
    !isRefusedAsInvalid(history, recorded) &&
    (standsForOne || !isMismatch(history.contract, recorded))
  );
}

/** An invalid payload that got a status of invalid payloads. */
export function isRefusedAsInvalid(history: History, recorded: Recorded): boolean {
  return recorded.attempt.payload.kind === "invalid" && isValidationError(history, recorded);
}

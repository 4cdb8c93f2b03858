/** Answers that certainly say "your duplicate is in flight", with everything that was sent under the same key text. */

import type { Contract } from "../contract.ts";
import type { History, KeyGroup, Recorded } from "../history.ts";
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
  const byText = new Map<string, KeyGroup[]>();
  for (const group of history.groups) {
    const text = keyText(history.contract, group.key);
    const known = byText.get(text);
    if (known) known.push(group);
    else byText.set(text, [group]);
  }
  const shared = attemptsByText(history, byText);
  return [...byText].map(([key, groups]) => keyUse(history, key, groups, shared.get(key) ?? groups[0]?.attempts ?? []));
});

/** Of keys that several groups use, since only together they are in order. */
function attemptsByText(
  { contract, attempts }: History,
  groupsByText: ReadonlyMap<string, readonly KeyGroup[]>,
): ReadonlyMap<string, readonly Recorded[]> {
  const byText = new Map<string, Recorded[]>();
  for (const [text, groups] of groupsByText) if (groups.length > 1) byText.set(text, []);
  if (byText.size === 0) return byText;
  for (const recorded of attempts) {
    const { key } = recorded.attempt;
    if (key !== null) byText.get(keyText(contract, key))?.push(recorded);
  }
  return byText;
}

function keyUse(history: History, key: string, groups: readonly KeyGroup[], attempts: readonly Recorded[]): KeyUse {
  const standsForOne = isOneRequest(history, groups);
  const conflicts: Answered[] = [];
  const others: Recorded[] = [];
  for (const recorded of attempts) {
    if (isCertainConflict(history, standsForOne, recorded)) conflicts.push(recorded);
    else others.push(recorded);
  }
  return { key, attempts, standsForOne, conflicts, others };
}

function isOneRequest({ contract }: History, groups: readonly KeyGroup[]): boolean {
  const [first] = groups;
  const [kind] = first?.kinds ?? [];
  if (first === undefined || kind === undefined) return true;
  const request = requestOf(contract, kind);
  return groups.every(
    ({ caller, endpoint, query, kinds }) =>
      caller === first.caller &&
      endpoint === first.endpoint &&
      query === first.query &&
      kinds.every((one) => requestOf(contract, one) === request),
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

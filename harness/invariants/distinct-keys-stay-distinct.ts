/** Keys that differ in length, case or their last character are different keys: none is taken for another. */
import { saySame } from "../evidence/answer-difference.ts";
import {
  type Answered,
  describe,
  excerpt,
  excerptAround,
  isAnswered,
  isConflict,
  isMarkedReplay,
  isMismatch,
  isSuccess,
  isValidationError,
  name,
  withinRetention,
} from "../evidence/answers.ts";
import { carries, groupsWithOwnKey, loneFirst } from "../evidence/key-group.ts";
import type { History, KeyGroup, Recorded } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation } from "../invariant.ts";

export const distinctKeysStayDistinct = {
  id: "distinct-keys-stay-distinct",
  level: "must",
  statement: "A key of its own is never taken for another one",

  check(history: History) {
    const groups = groupsWithOwnKey(history).filter(repeatsOneRequest);
    const references = new Set(history.operations.map(({ reference }) => reference));
    const violations: Violation[] = [];
    let checked = 0;
    // With one key alone there is none that it could be taken for.
    for (const group of groups.length < 2 ? [] : groups) {
      if (!group.attempts.some(isAnswered)) continue;
      checked += 1;
      const found = mistaken(history, group) ?? unearned(history, group) ?? foreign(history, group, references);
      if (found) violations.push(found);
    }
    return verdictOf(checked, violations, "fewer than two keys were each used for one request");
  },
} as const satisfies Invariant;

/** Attempts that differ in nothing can be neither mismatches nor spellings of one another. */
function repeatsOneRequest({ kinds }: KeyGroup): boolean {
  const [first, ...others] = kinds;
  return others.every(
    ({ fingerprint, request }) => fingerprint === first?.fingerprint && request.body === first.request.body,
  );
}

/** Told of a mismatch, though the key was never used for anything else. */
function mistaken(history: History, group: KeyGroup): Violation | null {
  const { contract } = history;
  for (const recorded of withinRetention(contract, group)) {
    if (isConflict(contract, recorded) || !isMismatch(contract, recorded)) continue;
    if (mayBeInvalid(history, recorded)) continue;
    return violation([recorded], {
      message: `${name(recorded)} was refused as a mismatch, and no other request ever used the key ${group.key}`,
      expected: "the answer to a key that is used for one request only",
      actual: `${describe(recorded.outcome)} ${excerpt(recorded.outcome.body.text)}`,
    });
  }
  return null;
}

/** One status may mean a mismatch or an invalid request; only of the plain request is it known that it is valid. */
function mayBeInvalid(history: History, recorded: Recorded): boolean {
  const { kind } = recorded.attempt.payload;
  if (kind === "invalid") return true;
  return kind !== "original" && kind !== "spelling" && isValidationError(history, recorded);
}

/** Marked as a replay, though nothing had been answered under the key before. */
function unearned(history: History, group: KeyGroup): Violation | null {
  const { contract } = history;
  const first = loneFirst(group);
  if (first === null || first.attempt.forged || isMarkedReplay(contract, first) !== true) return null;
  return violation([first], {
    message: `${name(first)} was the first attempt with the key ${group.key}, and its answer is marked as a replay${ofOtherKey(history, group, first)}`,
    expected: "an answer of its own, not marked as a replay",
    actual: `${contract.replay.marker?.header}: ${contract.replay.marker?.value}`,
  });
}

/** A success that shows the reference of another operation and not its own. */
function foreign(history: History, group: KeyGroup, references: ReadonlySet<string>): Violation | null {
  for (const recorded of group.attempts) {
    if (!isSuccess(history, recorded)) continue;
    const { text } = recorded.outcome.body;
    if (text.includes(recorded.attempt.reference)) continue;
    const shown = wordsIn(text).find((word) => references.has(word) && !carries(recorded.attempt, word));
    if (shown === undefined) continue;
    return violation([recorded], {
      message: `${name(recorded)} had the key ${group.key} to itself and was answered with ${shown}, another operation's${sentWith(history, shown)}`,
      expected: `an answer to ${recorded.attempt.reference}`,
      actual: excerptAround(text, shown),
    });
  }
  return null;
}

function sentWith({ operations }: History, reference: string): string {
  const keys = operations
    .filter((operation) => operation.reference === reference)
    .flatMap(({ attempts }) => attempts.flatMap(({ attempt }) => attempt.key ?? []));
  const [key, ...others] = new Set(keys);
  return key === undefined || others.length > 0 ? "" : `, which was sent with the key ${key}`;
}

/** The one other key that got the same answer, where there is one. */
function ofOtherKey(history: History, group: KeyGroup, { outcome }: Answered): string {
  const others = history.groups.filter(
    (other) =>
      other !== group &&
      other.attempts.some((one) => isSuccess(history, one) && saySame(one.outcome.body, outcome.body)),
  );
  const [other, ...more] = new Set(others.map(({ key }) => key));
  return other === undefined || more.length > 0 ? "" : `: the key ${other} got the same answer`;
}

function wordsIn(text: string): readonly string[] {
  return text.match(/[A-Za-z0-9_-]+/g) ?? [];
}

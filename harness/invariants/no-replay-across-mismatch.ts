/** One key, two payloads: the second never passes for the first, and its error tells nothing of it. */
import {
  type Answered,
  excerpt,
  excerptAround,
  isAnswered,
  isConflict,
  isMismatch,
  isServerError,
  isSuccess,
  isTurnedAway,
  isValidationError,
  matchesAny,
  name,
  patternsText,
  withinRetention,
} from "../evidence/answers.ts";
import { carries, hasOrdinaryKey, isAfter, ownerOf } from "../evidence/key-group.ts";
import type { History, KeyGroup, Recorded } from "../history.ts";
import { type Invariant, undocumented, type Violation, verdictOf, violation } from "../invariant.ts";

export const noReplayAcrossMismatch = {
  id: "no-replay-across-mismatch",
  level: "must",
  statement: "A request with another payload is refused as a mismatch and learns nothing of the first",

  check(history: History) {
    const { fingerprint, mismatch } = history.contract;
    if (fingerprint === "none") {
      return { result: "skip", reason: "by the contract only the key counts, not the payload", excused: true };
    }
    if (mismatch === "undocumented") return undocumented("the answer to a mismatch");
    const violations: Violation[] = [];
    let checked = 0;
    for (const group of history.groups) {
      // Attempts of one kind have one payload.
      if (group.kinds.length < 2 || !hasOrdinaryKey(group)) continue;
      const owner = ownerOf(history, group);
      if (owner === null) continue;
      const result = judged(history, group, owner);
      checked += result.checked;
      if (result.violation) violations.push(result.violation);
    }
    return verdictOf(checked, violations, "no key was used with another payload than its owner's");
  },
} as const satisfies Invariant;

/** Judges the other payloads of one key, up to the first violation. */
function judged(
  history: History,
  group: KeyGroup,
  owner: Answered,
): { readonly checked: number; readonly violation: Violation | null } {
  let checked = 0;
  for (const other of withinRetention(history.contract, group)) {
    if (other.attempt.fingerprint === owner.attempt.fingerprint || !isAnswered(other)) continue;
    const found = leak(history, owner, other) ?? treatment(history, owner, other);
    if (found === "unjudged") continue;
    checked += 1;
    if (found !== "right") return { checked, violation: violation([owner, other], found) };
  }
  return { checked, violation: null };
}

type Proof = Parameters<typeof violation>[1];

/** An answer that is no success and shows the owner's reference, which its own request never carried. */
function leak(history: History, owner: Answered, other: Answered): Proof | null {
  const { reference } = owner.attempt;
  const { text } = other.outcome.body;
  if (isAccepted(history, other) || !text.includes(reference) || carries(other.attempt, reference)) return null;
  return {
    message: `${name(other)} was told of ${reference}, which only the other payload of its key, ${name(owner)}, had sent`,
    expected: "an error that shows nothing of the other payload",
    actual: excerptAround(text, reference),
  };
}

function treatment(history: History, owner: Answered, other: Answered): "right" | "unjudged" | Proof {
  const { contract } = history;
  if (isAccepted(history, other)) return notRefused(history, owner, other, "was a success");
  // Before the owner was sent, the key may have stood for anything.
  if (other.completedAt <= owner.invokedAt) return "unjudged";
  if (isMismatch(contract, other)) return "right";
  return isAfter(other, owner) ? treatmentAfter(history, owner, other) : treatmentInFlight(history, owner, other);
}

function treatmentAfter(history: History, owner: Answered, other: Answered): "unjudged" | Proof {
  if (isConflict(history.contract, other) || saysNothing(history, other)) return "unjudged";
  return notRefused(history, owner, other, "was not refused as a mismatch");
}

function treatmentInFlight(history: History, owner: Answered, other: Answered): "right" | "unjudged" | Proof {
  const { contract } = history;
  const { mismatchInFlight } = contract;
  if (mismatchInFlight !== "undocumented" && matchesAny(mismatchInFlight, other.outcome)) return "right";
  if (isConflict(contract, other)) return "right";
  if (mismatchInFlight === "undocumented" || saysNothing(history, other)) return "unjudged";
  return notRefused(history, owner, other, "was not refused as a mismatch in flight");
}

/** Failures, limits and the content's own faults come before any look at the fingerprint. */
function saysNothing(history: History, other: Recorded): boolean {
  return isServerError(other) || isTurnedAway(other) || isValidationError(history, other);
}

/** A publisher that reports errors with the status of a success names them by their body. */
function isAccepted(history: History, answered: Recorded): boolean {
  return isSuccess(history, answered) && !isMismatch(history.contract, answered);
}

function notRefused({ contract }: History, owner: Answered, other: Answered, what: string): Proof {
  const { mismatch, mismatchInFlight } = contract;
  const patterns = [
    ...(mismatch === "undocumented" ? [] : mismatch),
    ...(isAfter(other, owner) || mismatchInFlight === "undocumented" ? [] : mismatchInFlight),
  ];
  return {
    message: `${name(other)} had another payload under the key of ${name(owner)} and ${what}`,
    expected: patternsText(patterns),
    actual: `${other.outcome.status} ${excerpt(other.outcome.body.text)}`,
  };
}

/**
 * What an answer means under a contract. The same status means different things in different situations
 * (409 is "wait" at one publisher and "other payload" at the next), so each question is a function of its
 * own and an invariant asks the one that its situation allows.
 */
import type { AnswerPattern, Contract } from "../contract.ts";
import type { EndpointFacts } from "../event.ts";
import type { History, KeyGroup, Recorded } from "../history.ts";
import type { Outcome, Responded } from "../operation.ts";

/** A recorded attempt that got an answer. */
export type Answered = Recorded & { readonly outcome: Responded };

export function isAnswered(recorded: Recorded): recorded is Answered {
  return recorded.outcome.kind === "responded";
}

export function endpointOf(history: History, recorded: Recorded): EndpointFacts {
  const facts = history.run.endpoints[recorded.attempt.endpoint];
  if (facts === undefined) throw new Error(`the history has no facts of endpoint ${recorded.attempt.endpoint}`);
  return facts;
}

/** Did the target acknowledge the operation? */
export function isSuccess(history: History, recorded: Recorded): recorded is Answered {
  return (
    isAnswered(recorded) &&
    !saysInFlight(history.contract, recorded) &&
    (endpointOf(history, recorded).success.includes(recorded.outcome.status) || isStatusOfReplay(history, recorded))
  );
}

function isStatusOfReplay(history: History, recorded: Answered): boolean {
  return history.contract.replay.statuses.includes(recorded.outcome.status);
}

/** With publishers that answer "still at work" under the status of a success, the body tells the two apart. */
function saysInFlight(contract: Contract, { outcome }: Answered): boolean {
  const { answers } = contract.inFlight;
  if (answers === "undocumented") return false;
  for (const one of answers) if ("pointer" in one && one.pointer !== undefined && matches(one, outcome)) return true;
  return false;
}

/** Was the attempt told that its duplicate is in flight? */
export function isConflict(contract: Contract, recorded: Recorded): recorded is Answered {
  const { answers } = contract.inFlight;
  return answers !== "undocumented" && isAnswered(recorded) && matchesAny(answers, recorded.outcome);
}

/** Was the attempt told that its key belongs to another payload? */
export function isMismatch(contract: Contract, recorded: Recorded): recorded is Answered {
  const { mismatch } = contract;
  return mismatch !== "undocumented" && isAnswered(recorded) && matchesAny(mismatch, recorded.outcome);
}

export function isServerError(recorded: Recorded): recorded is Answered {
  return isAnswered(recorded) && recorded.outcome.status >= 500;
}

/** Statuses by which a rate limit or a gateway answers in the place of the target's key layer. */
const TURNED_AWAY: readonly number[] = [429, 502, 503, 504];

/** Was it turned away before, or instead of, any look at its key? */
export function isTurnedAway(recorded: Recorded): recorded is Answered {
  return isAnswered(recorded) && TURNED_AWAY.includes(recorded.outcome.status);
}

/** Was it refused for its content: a 4xx that is neither conflict nor success? */
export function isValidationError(history: History, recorded: Recorded): recorded is Answered {
  return isAnswered(recorded) && endpointOf(history, recorded).invalidStatus.includes(recorded.outcome.status);
}

/** Does the answer say of itself that it is a stored one? Null where the contract has no such marker. */
export function isMarkedReplay(contract: Contract, answered: Answered): boolean | null {
  const { marker } = contract.replay;
  if (marker === null) return null;
  return answered.outcome.headers[marker.header.toLowerCase()]?.toLowerCase() === marker.value.toLowerCase();
}

/** Names of the headers that any invariant looks at under a contract, in lower case. All others need not be kept. */
export function headersJudged({ replay: { headers, marker } }: Contract): readonly string[] {
  const named = [...headers, ...(marker === null ? [] : [marker.header]), "Retry-After"];
  return [...new Set(named.map((name) => name.toLowerCase()))];
}

/** Statuses that speak of the caller or of his rate. */
const NOT_ABOUT_KEYS: readonly number[] = [401, 403, 429];

/** Was it refused for a reason that has nothing to do with its key, as far as anyone can tell? */
export function isUnrelatedRefusal(contract: Contract, recorded: Recorded): recorded is Answered {
  return (
    isAnswered(recorded) &&
    NOT_ABOUT_KEYS.includes(recorded.outcome.status) &&
    !isConflict(contract, recorded) &&
    !isMismatch(contract, recorded)
  );
}

export function matchesAny(patterns: readonly AnswerPattern[], outcome: Responded): boolean {
  for (const pattern of patterns) if (matches(pattern, outcome)) return true;
  return false;
}

function matches(pattern: AnswerPattern, outcome: Responded): boolean {
  if (pattern.status !== outcome.status) return false;
  if (!("pointer" in pattern) || pattern.pointer === undefined) return true;
  const found = valueAt(parseJson(outcome.body.text), pattern.pointer);
  return pattern.value === undefined ? found !== undefined : String(found) === pattern.value;
}

/** Allowed answers as words: `400 or 409 with /code "busy"`. */
export function patternsText(patterns: readonly AnswerPattern[]): string {
  return [...new Set(patterns.map(patternText))].join(" or ");
}

function patternText(pattern: AnswerPattern): string {
  if (!("pointer" in pattern) || pattern.pointer === undefined) return String(pattern.status);
  const value = pattern.value === undefined ? "" : ` ${JSON.stringify(pattern.value)}`;
  return `${pattern.status} with ${pattern.pointer}${value}`;
}

/** The earliest acknowledged answer of a group, by the time it was received. */
export function firstSuccess(history: History, attempts: readonly Recorded[]): Answered | null {
  let first: Answered | null = null;
  for (const recorded of attempts) {
    if (isSuccess(history, recorded) && (first === null || recorded.completedAt < first.completedAt)) first = recorded;
  }
  return first;
}

/**
 * The attempts of a group that certainly fall within the retention of its first one: received and answered
 * before the earliest moment at which its record may be forgotten. All of them where retention is undocumented.
 */
export function withinRetention(
  contract: Contract,
  group: Pick<KeyGroup, "attempts"> & Partial<Pick<KeyGroup, "lastAt">>,
): readonly Recorded[] {
  const first = group.attempts[0];
  if (first === undefined || contract.retentionMs === "undocumented") return group.attempts;
  const end = first.invokedAt + contract.retentionMs * 1000;
  const isWithin = ({ completedAt, invokedAt }: Recorded): boolean =>
    (completedAt === Infinity ? invokedAt : completedAt) < end;
  // Mostly all of them are, and then nothing is looked at.
  return (group.lastAt ?? Infinity) < end ? group.attempts : group.attempts.filter(isWithin);
}

/** An attempt as a proof sentence names it: `a12 (201)`. */
export function name(recorded: Recorded): string {
  return `${recorded.attempt.id} (${describe(recorded.outcome)})`;
}

export function describe(outcome: Outcome): string {
  switch (outcome.kind) {
    case "responded":
      return String(outcome.status);
    case "refused":
      return `refused: ${outcome.reason}`;
    case "indeterminate":
      return `no answer: ${outcome.reason}`;
  }
}

export const EXCERPT_CHARACTERS = 160;

export function excerpt(text: string): string {
  return text.length <= EXCERPT_CHARACTERS ? text : `${text.slice(0, EXCERPT_CHARACTERS)}…`;
}

/** How much stands before the word that is to be seen. */
const BEFORE_CHARACTERS = 40;

/** The same, so that the word is in it where the text holds it. */
export function excerptAround(text: string, word: string): string {
  const at = text.indexOf(word);
  if (at + word.length <= EXCERPT_CHARACTERS) return excerpt(text);
  return `…${excerpt(text.slice(at - BEFORE_CHARACTERS))}`;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value at a JSON pointer (RFC 6901), or undefined. */
export function valueAt(document: unknown, pointer: string): unknown {
  let value = document;
  for (const token of pointer.split("/").slice(1)) {
    if (typeof value !== "object" || value === null) return undefined;
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    value = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
  }
  return value;
}

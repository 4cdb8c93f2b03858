/**
 * A key belongs to its caller, endpoint and query. Whoever uses the same text elsewhere is treated as the
 * contract says, and where scopes are separate, never sees the first answer.
 */

import type { Contract, Treatment } from "../contract.ts";
import { plainText, saySame } from "../evidence/answer-difference.ts";
import {
  type Answered,
  excerpt,
  excerptAround,
  isAnswered,
  isMarkedReplay,
  isMismatch,
  isServerError,
  isSuccess,
  isTurnedAway,
  name,
  patternsText,
  withinRetention,
} from "../evidence/answers.ts";
import { carries, groupsByKey, hasOrdinaryKey, isAfter, loneFirst, ownerOf } from "../evidence/key-group.ts";
import type { History, KeyGroup, Recorded } from "../history.ts";
import { type Invariant, undocumented, type Violation, verdictOf, violation } from "../invariant.ts";

const DIMENSIONS = ["caller", "endpoint", "query"] as const;
type Dimension = (typeof DIMENSIONS)[number];
type Allowed = Exclude<Treatment, "undocumented">;

export const scopesAreIsolated = {
  id: "scopes-are-isolated",
  level: "must",
  statement:
    "A key used by another caller, endpoint or query is treated as the contract says, and shows no other's answer",

  check(history: History) {
    const { scope } = history.contract;
    if (DIMENSIONS.every((dimension) => scope[dimension] === "undocumented")) return undocumented("the scope of a key");
    const shared = [...groupsByKey(history).values()].filter(({ length }) => length > 1);
    const tried = dimensionsTried(shared);
    if (tried.length > 0 && tried.every((dimension) => scope[dimension] === "undocumented")) {
      return undocumented(`the scope of a key (${tried.join(", ")})`);
    }
    const telling = new TellingBodies(history);
    const violations: Violation[] = [];
    let checked = 0;
    for (const pair of pairsOf(history, shared)) {
      const result = judged(history, pair, telling);
      checked += result.checked;
      if (result.violation) violations.push(result.violation);
    }
    return verdictOf(checked, violations, "no key was used again with another caller, endpoint or query");
  },
} as const satisfies Invariant;

/** In what the uses of one key differed, over all keys. */
function dimensionsTried(uses: readonly (readonly KeyGroup[])[]): readonly Dimension[] {
  return DIMENSIONS.filter((dimension) =>
    uses.some((groups) => groups.some((group) => group[dimension] !== groups[0]?.[dimension])),
  );
}

function ordinaryOwnerOf(history: History, group: KeyGroup): Answered | null {
  return hasOrdinaryKey(group) ? ownerOf(history, group) : null;
}

/** A key's first owner, and another group that uses the same text. */
interface Pair {
  readonly owner: Answered;
  readonly first: KeyGroup;
  readonly other: KeyGroup;
  readonly dimension: Dimension;
  readonly allowed: Allowed;
  /** The other group's first attempt, when no attempt but the first group's can explain its answer. */
  readonly lone: Recorded | null;
}

/** Compares with the earliest owner only; a key has at most a few groups, one for each caller, endpoint and query. */
function pairsOf(history: History, uses: readonly (readonly KeyGroup[])[]): readonly Pair[] {
  return uses.flatMap((groups) => {
    const first = earliest(history, groups);
    const owner = first === null ? null : ordinaryOwnerOf(history, first);
    if (first === null || owner === null || !groups.every(hasOrdinaryKey)) return [];
    return groups.flatMap((other): Pair[] => {
      const dimension = other.key === first.key ? onlyDifference(first, other) : null;
      const allowed = dimension === null ? "undocumented" : history.contract.scope[dimension];
      if (dimension === null || allowed === "undocumented") return [];
      return [{ owner, first, other, dimension, allowed, lone: loneOf(history.contract, groups, first, other) }];
    });
  });
}

function earliest(history: History, groups: readonly KeyGroup[]): KeyGroup | null {
  let first: KeyGroup | null = null;
  let firstAt = Infinity;
  for (const group of groups) {
    const owner = ordinaryOwnerOf(history, group);
    if (owner === null || owner.completedAt >= firstAt) continue;
    first = group;
    firstAt = owner.completedAt;
  }
  return first;
}

function differencesOf(one: KeyGroup, other: KeyGroup): readonly Dimension[] {
  return DIMENSIONS.filter((dimension) => one[dimension] !== other[dimension]);
}

function onlyDifference(one: KeyGroup, other: KeyGroup): Dimension | null {
  const [dimension, ...more] = differencesOf(one, other);
  return dimension !== undefined && more.length === 0 ? dimension : null;
}

/** Groups that the contract may let share a key with `other` can explain its answers, as its own attempts can. */
function loneOf(contract: Contract, groups: readonly KeyGroup[], first: KeyGroup, other: KeyGroup): Recorded | null {
  const lone = loneFirst(other);
  if (lone === null || lone.attempt.forged) return null;
  const kin = groups.filter((group) => group !== first && group !== other && !isSeparate(contract, group, other));
  return kin.every(({ attempts: [one] }) => one === undefined || isAfter(one, lone)) ? lone : null;
}

function isSeparate({ scope }: Contract, one: KeyGroup, other: KeyGroup): boolean {
  return differencesOf(one, other).some((dimension) => {
    const treatment = scope[dimension];
    return treatment !== "undocumented" && treatment.every((allowed) => allowed === "separate");
  });
}

/** Judges the other group's attempts, up to the first violation. */
function judged(
  history: History,
  pair: Pair,
  telling: TellingBodies,
): { readonly checked: number; readonly violation: Violation | null } {
  const { first, other, owner } = pair;
  // The retention that counts is the owner's, and it began with the first attempt of the owner's group.
  const attempts = withinRetention(history.contract, { attempts: [...first.attempts.slice(0, 1), ...other.attempts] });
  let checked = 0;
  for (const recorded of attempts) {
    if (!isAfter(recorded, owner) || !isAnswered(recorded) || saysNothing(recorded)) continue;
    const found = isAccepted(history, recorded)
      ? successFault(history, pair, recorded, telling)
      : errorFault(history, pair, recorded);
    if (found === "unjudged") continue;
    checked += 1;
    if (found === "right") continue;
    const proof = { ...found, expected: expectation(history.contract, pair) };
    return { checked, violation: violation([owner, recorded], proof) };
  }
  return { checked, violation: null };
}

/** Failures, limits, and callers who may not do this at all. */
function saysNothing(answered: Answered): boolean {
  const { status } = answered.outcome;
  return isServerError(answered) || isTurnedAway(answered) || status === 401 || status === 403;
}

/** A publisher that reports errors with the status of a success names them by their body. */
function isAccepted(history: History, answered: Recorded): boolean {
  return isSuccess(history, answered) && !isMismatch(history.contract, answered);
}

type Fault = { readonly message: string; readonly actual: string };

function successFault(history: History, pair: Pair, answered: Answered, telling: TellingBodies): "right" | Fault {
  if (pair.allowed.includes("shared")) return "right";
  const actual = `${answered.outcome.status} ${excerptAround(answered.outcome.body.text, pair.owner.attempt.reference)}`;
  const sentence = sentenceOf(pair, answered);
  if (!pair.allowed.includes("separate")) return { message: `${sentence} and was a success`, actual };
  const sign = signOfReplay(history, pair, answered, telling);
  return sign === null ? "right" : { message: `${sentence} and got its answer: ${sign}`, actual };
}

/** Why a success is the owner's answer and not one of its own, or null. */
function signOfReplay(
  history: History,
  { owner, lone }: Pair,
  answered: Answered,
  telling: TellingBodies,
): string | null {
  const { reference } = owner.attempt;
  if (answered.outcome.body.text.includes(reference) && !carries(answered.attempt, reference)) {
    return `it shows ${reference}, which only the owner had sent`;
  }
  if (answered === lone && isMarkedReplay(history.contract, answered) === true) {
    return "it is marked as a replay, and it was the first of its own scope";
  }
  if (telling.tellsExecutionsApart(owner) && saySame(owner.outcome.body, answered.outcome.body)) {
    return "the bodies are equal, and all other executions of the owner's request got different ones";
  }
  return null;
}

function errorFault(history: History, pair: Pair, answered: Answered): "right" | "unjudged" | Fault {
  const { contract } = history;
  const { allowed, owner, lone } = pair;
  const mayMismatch =
    allowed.includes("mismatch") ||
    // In a shared scope the owner's key stands for the owner's payload.
    (allowed.includes("shared") && answered.attempt.fingerprint !== owner.attempt.fingerprint);
  if (mayMismatch && contract.mismatch === "undocumented") return "unjudged";
  if (mayMismatch && isMismatch(contract, answered)) return "right";
  if (answered !== lone || answered.attempt.payload.kind === "invalid") return "unjudged";
  const actual = `${answered.outcome.status} ${excerpt(answered.outcome.body.text)}`;
  return { message: `${sentenceOf(pair, answered)} and was refused`, actual };
}

function sentenceOf({ owner, first, other, dimension }: Pair, answered: Answered): string {
  const what = dimension === "query" && other.query === "" ? "no query" : `${dimension} ${other[dimension]}`;
  const before = dimension === "query" && first.query === "" ? "without one" : `with ${dimension} ${first[dimension]}`;
  return `${name(answered)} used the key of ${name(owner)}, sent ${before}, with ${what}`;
}

function expectation({ mismatch }: Contract, { allowed }: Pair): string {
  const words = {
    separate: "an operation of its own",
    mismatch: mismatch === "undocumented" ? "a mismatch" : `a mismatch (${patternsText(mismatch)})`,
    shared: "the owner's answer",
  };
  return allowed.map((one) => words[one]).join(" or ");
}

/**
 * Do bodies tell executions apart? They do where requests that differed in nothing but key and reference all
 * got different ones, key and reference themselves set aside: a body may only repeat what it was sent.
 */
class TellingBodies {
  readonly #history: History;
  #byRequest: ReadonlyMap<string, Executions> | null = null;

  constructor(history: History) {
    this.#history = history;
  }

  tellsExecutionsApart(owner: Answered): boolean {
    this.#byRequest ??= executionsByRequest(this.#history);
    const known = this.#byRequest.get(requestOf(owner));
    return known !== undefined && known.owners >= 2 && known.bodies.size === known.owners;
  }
}

interface Executions {
  owners: number;
  readonly bodies: Set<string>;
}

function executionsByRequest(history: History): ReadonlyMap<string, Executions> {
  const byRequest = new Map<string, Executions>();
  for (const group of history.groups) {
    const owner = ordinaryOwnerOf(history, group);
    if (owner === null) continue;
    const id = requestOf(owner);
    const known = byRequest.get(id) ?? { owners: 0, bodies: new Set() };
    byRequest.set(id, known);
    known.owners += 1;
    known.bodies.add(withoutEcho(owner));
  }
  return byRequest;
}

/** Within one of these, groups differ in their key alone. */
function requestOf({ attempt: { caller, endpoint, query, payload } }: Answered): string {
  return JSON.stringify([caller, endpoint, query, payload]);
}

function withoutEcho({ attempt: { key, reference }, outcome: { body } }: Answered): string {
  return plainText(body.text.replaceAll(reference, "").replaceAll(key ?? "", ""));
}

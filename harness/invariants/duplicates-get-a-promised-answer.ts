/** A duplicate of one request is answered as promised: with the success, or with "in flight". Nothing else is its fault. */

import type { Contract } from "../contract.ts";
import {
  type Answered,
  isAnswered,
  isConflict,
  isSuccess,
  isUnrelatedRefusal,
  name,
  withinRetention,
} from "../evidence/answers.ts";
import { ownGroups, requestOf } from "../evidence/key-scope.ts";
import type { History, KeyGroup, Recorded } from "../history.ts";
import { type Invariant, undocumented, type Violation, verdictOf, violation } from "../invariant.ts";

export const duplicatesGetAPromisedAnswer = {
  id: "duplicates-get-a-promised-answer",
  level: "must",
  statement: "A duplicate of a request is answered with the request's success or as in flight, and with nothing else",

  check(history: History) {
    const { contract } = history;
    const { answers } = contract.inFlight;
    if (answers === "undocumented") return undocumented("the answer while in flight");
    const acknowledged = acknowledgedEndpoints(history);
    const violations: Violation[] = [];
    let checked = 0;
    for (const group of ownGroups(history)) {
      if (!acknowledged.has(group.endpoint) || !isOfOneRequest(contract, group)) continue;
      if (isRefusedForItself(history, group)) continue;
      const judged = duplicatesOf(contract, group).filter((one) => !isUnrelatedRefusal(contract, one));
      checked += judged.length;
      const unpromised = judged.find((one) => !isPromised(history, one));
      if (unpromised !== undefined) violations.push(accuse(history, group, unpromised));
    }
    return verdictOf(checked, violations, "no request was sent more than once and answered");
  },
} as const satisfies Invariant;

/** An endpoint that never acknowledged anything refuses its requests for some other reason. */
function acknowledgedEndpoints(history: History): ReadonlySet<string> {
  const acknowledged = new Set<string>();
  for (const recorded of history.attempts) {
    const { endpoint } = recorded.attempt;
    if (!acknowledged.has(endpoint) && isSuccess(history, recorded)) acknowledged.add(endpoint);
  }
  return acknowledged;
}

function isOfOneRequest(contract: Contract, { kinds }: KeyGroup): boolean {
  const [first] = kinds;
  return first !== undefined && kinds.every((kind) => requestOf(contract, kind) === requestOf(contract, first));
}

/**
 * An answer that came while nothing else was in flight was a refusal: the first one, or, where nothing ever
 * succeeded, the last one. So it is the request that is refused, and not its duplicates.
 */
function isRefusedForItself(history: History, { attempts }: KeyGroup): boolean {
  const reached = attempts.filter(({ outcome }) => outcome.kind !== "refused");
  const [first, second] = reached;
  const isRefusedRequest = (one: Recorded | undefined): boolean =>
    one !== undefined && isRefusal(one) && !isPromised(history, one) && !isUnrelatedRefusal(history.contract, one);
  if ((second === undefined || second.invokedAt > (first?.completedAt ?? 0)) && isRefusedRequest(first)) return true;
  const last = reached.at(-1);
  const isLastAlone = reached.every((one) => one === last || one.completedAt < (last?.invokedAt ?? 0));
  return isLastAlone && isRefusedRequest(last) && !reached.some((one) => isSuccess(history, one));
}

function isRefusal(recorded: Recorded): recorded is Answered {
  return isAnswered(recorded) && recorded.outcome.status < 500;
}

function duplicatesOf(contract: Contract, group: KeyGroup): readonly Answered[] {
  const { attempts } = group;
  const [first, second] = attempts;
  const startedAlone = first !== undefined && (second === undefined || second.invokedAt > first.completedAt);
  return withinRetention(contract, group).filter((one): one is Answered => {
    const { payload, condition, forged } = one.attempt;
    const isPlain = payload.kind === "original" || payload.kind === "spelling";
    return isPlain && condition !== "fails" && !forged && isRefusal(one) && !(startedAlone && one === first);
  });
}

function isPromised(history: History, recorded: Recorded): boolean {
  return isSuccess(history, recorded) || isConflict(history.contract, recorded);
}

function accuse({ contract }: History, { key, attempts }: KeyGroup, unpromised: Answered): Violation {
  return violation([unpromised], {
    message: `${name(unpromised)}, one of ${attempts.length} attempts of one request with key ${key}, got an answer that no duplicate is promised`,
    expected: `a success${inFlightText(contract)}`,
    actual: name(unpromised),
  });
}

function inFlightText({ inFlight: { answers } }: Contract): string {
  if (answers === "undocumented" || answers.length === 0) return "";
  return `, or ${answers.map(({ status }) => status).join(" or ")} while in flight`;
}

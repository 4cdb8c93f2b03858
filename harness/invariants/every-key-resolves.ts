/** No key is stuck: a client that obeys Retry-After gets a final answer within lease plus margin. */

import type { Contract } from "../contract.ts";
import { describe, name } from "../evidence/answers.ts";
import { type FaultReach, faultReach } from "../evidence/fault-reach.ts";
import { isFinal, isToldToWait, RESOLVE_MARGIN_MS } from "../evidence/persistence.ts";
import type { History, OperationRecord, Recorded } from "../history.ts";
import { type Invariant, undocumented, type Violation, verdictOf, violation } from "../invariant.ts";
import type { Micros } from "../operation.ts";

export const everyKeyResolves = {
  id: "every-key-resolves",
  level: "must",
  statement: "A client that obeys Retry-After reaches a final answer within lease plus margin",

  check(history: History) {
    const { contract } = history;
    if (contract.leaseMs === "undocumented") return undocumented("the lease");
    const limitMs = contract.leaseMs + RESOLVE_MARGIN_MS;
    const faults = faultReach(history);
    const violations: Violation[] = [];
    let checked = 0;
    for (const operation of history.operations) {
      if (!operation.kinds.some(({ persistent }) => persistent)) continue;
      const tries = triesOf(contract, operation, faults);
      const last = tries.at(-1);
      if (last === undefined) continue;
      const first = firstSinceFinal(contract, tries);
      const waited = first === null ? 0 : waitedFor(faults, first, last);
      const isStuck = !isFinal(contract, last.outcome) && waited >= limitMs * 1000;
      if (isStuck || isFinal(contract, last.outcome)) checked += 1;
      if (isStuck) violations.push(accuse(first ?? last, last, waited, limitMs));
    }
    return verdictOf(checked, violations, "no client repeated a request until it had a final answer");
  },
} as const satisfies Invariant;

/** What the client learned about its key, in order. Silence that a fault or the client itself explains is nothing. */
function triesOf(contract: Contract, { attempts }: OperationRecord, faults: FaultReach): readonly Recorded[] {
  return attempts.filter((one) => {
    if (!one.attempt.persistent || one.attempt.key === null) return false;
    if (isFinal(contract, one.outcome) || isToldToWait(contract, one.outcome)) return true;
    return !saysNothing(one) && faults.lastTouching(one) === null;
  });
}

function saysNothing({ outcome }: Recorded): boolean {
  if (outcome.kind === "indeterminate") return outcome.reason === "open" || outcome.reason === "aborted";
  return outcome.kind === "refused";
}

/** A client that has its answer is done; whoever asks afterwards has not waited since before. */
function firstSinceFinal(contract: Contract, tries: readonly Recorded[]): Recorded | null {
  let answeredAt = -Infinity;
  for (const one of tries) if (isFinal(contract, one.outcome)) answeredAt = Math.max(answeredAt, one.completedAt);
  return tries.find(({ invokedAt }) => invokedAt > answeredAt) ?? null;
}

/** A lease that runs since a fault took its holder away began no earlier than that. */
function waitedFor(faults: FaultReach, first: Recorded, last: Recorded): Micros {
  const since = Math.max(first.invokedAt, faults.lastHolderLostAt(first, last) ?? first.invokedAt);
  return last.invokedAt - since;
}

function accuse(first: Recorded, last: Recorded, waited: Micros, limitMs: number): Violation {
  return violation([first, last], {
    message: `${name(last)}: still ${describe(last.outcome)} after ${Math.round(waited / 1000)} ms of obeying Retry-After since ${first.attempt.id}`,
    expected: `a final answer within ${limitMs} ms`,
    actual: describe(last.outcome),
  });
}

/** "A duplicate is in flight" is true when it is said: some other attempt may have been executing just then. */

import type { Contract } from "../contract.ts";
import { type Answered, isMismatch, name, patternsText } from "../evidence/answers.ts";
import { isRefusedAsInvalid, type KeyUse, keyUses, withoutConflicts } from "../evidence/conflict.ts";
import { faultReach, killedAt } from "../evidence/fault-reach.ts";
import { requestOf } from "../evidence/key-scope.ts";
import { lastTouching, type Span, spansOf } from "../evidence/spans.ts";
import type { History, Recorded } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation } from "../invariant.ts";

/** A lease is told by another clock, and ends a moment after its holder. */
const LEASE_MARGIN_MS = 1_000;

/** Statuses by which a gateway answers for a target that may still be at work (RFC 9110 sections 15.6.3, 15.6.5). */
const GATEWAY_STATUSES: readonly number[] = [502, 504];

export const conflictOnlyWhileInFlight = {
  id: "conflict-only-while-in-flight",
  level: "must",
  statement: "An attempt is told that its duplicate is in flight only while another attempt may be executing",

  check(history: History) {
    const silent = withoutConflicts(history.contract);
    if (silent !== null) return silent;
    const violations: Violation[] = [];
    let checked = 0;
    for (const use of keyUses(history)) {
      const holders = use.conflicts.filter((conflict) => wasHolder(history, conflict));
      const conflicts = use.conflicts.filter((conflict) => !wasHolder(history, conflict));
      if (conflicts.length === 0) continue;
      checked += conflicts.length;
      const executing = spansOf([
        ...use.others.flatMap((one) => executionOf(history, use, one) ?? []),
        ...holders.map(({ invokedAt: from, completedAt: until }) => ({ from, until })),
      ]);
      const untrue = conflicts.find((conflict) => lastTouching(executing, conflict) === null);
      if (untrue !== undefined) violations.push(accuse(history.contract, use, untrue));
    }
    return verdictOf(checked, violations, "no attempt was told that its duplicate is in flight");
  },
} as const satisfies Invariant;

/**
 * Kept from its work for as long as a lease, it may have been the holder itself: its key is anybody's now, and to
 * come back is all it can be told. Others were rightly told of it until then.
 */
function wasHolder({ contract: { leaseMs } }: History, { invokedAt, completedAt }: Answered): boolean {
  return leaseMs !== "undocumented" && completedAt - invokedAt >= leaseMs * 1000;
}

/**
 * When the attempt may have been executing, at most; null where it certainly never was. A server error under a
 * fault may be that of a holder who does not know what became of his work, and rightly keeps the key for as long
 * as its lease; so does the lease of a holder who was killed. Where the outcome of a call to the processor may be
 * open, a process of the target that no attempt shows may be finding it out, as often as it takes.
 */
function executionOf(history: History, use: KeyUse, recorded: Recorded): Span | null {
  const { outcome, invokedAt: from, completedAt } = recorded;
  if (outcome.kind === "refused" || isTurnedDown(history, use, recorded)) return null;
  const fault = faultReach(history).lastTouching(recorded);
  if (outcome.kind === "responded" && !mayStillHold(outcome.status, fault)) return { from, until: completedAt };
  if (history.run.endpoints[recorded.attempt.endpoint]?.isDownstream) return { from, until: Infinity };
  // It may have waited in a disturbed target's queue, and begun when the fault was over; not if its process was dead.
  const beganBefore = Math.min(
    killedAt(history, recorded) ?? Infinity,
    Math.max(completedAt, fault?.until ?? completedAt),
  );
  return { from, until: beganBefore + leaseMicros(history.contract) };
}

function mayStillHold(status: number, fault: Span | null): boolean {
  return GATEWAY_STATUSES.includes(status) || (status >= 500 && fault !== null);
}

/** It was told that the key belongs to another request. */
function isTurnedDown(history: History, { standsForOne }: KeyUse, recorded: Recorded): boolean {
  return isMismatch(history.contract, recorded) && !standsForOne && !isRefusedAsInvalid(history, recorded);
}

function leaseMicros({ leaseMs }: Contract): number {
  return leaseMs === "undocumented" ? Infinity : (leaseMs + LEASE_MARGIN_MS) * 1000;
}

function accuse(contract: Contract, use: KeyUse, conflict: Answered): Violation {
  const { key, attempts } = use;
  const { mismatch } = contract;
  const before = mismatch === "undocumented" ? undefined : otherRequest(contract, use, conflict);
  if (before !== undefined && mismatch !== "undocumented") {
    const promised = patternsText(mismatch);
    return violation([conflict], {
      message: `${name(conflict)} had another payload than ${name(before)} under the key ${key}, and the mismatch was answered by ${conflict.outcome.status}, as a duplicate in flight is, where the contract promises ${promised}: of the ${attempts.length} attempt(s) no other can have been executing`,
      expected: promised,
      actual: name(conflict),
    });
  }
  return violation([conflict], {
    message: `${name(conflict)} was told that a duplicate is in flight, and of the ${attempts.length} attempt(s) with key ${key} no other can have been`,
    expected: "an answer other than a conflict, since nothing was executing",
    actual: name(conflict),
  });
}

/** The key's first request, where this one is another of the same caller and endpoint. */
function otherRequest(contract: Contract, { attempts }: KeyUse, { attempt }: Answered): Recorded | undefined {
  const [first] = attempts.filter(
    ({ attempt: { caller, endpoint, query } }) =>
      caller === attempt.caller && endpoint === attempt.endpoint && query === attempt.query,
  );
  const isOther = first !== undefined && requestOf(contract, first.attempt) !== requestOf(contract, attempt);
  return isOther ? first : undefined;
}

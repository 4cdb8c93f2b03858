/** A client that is told to wait is told how long, in a form it can read, and not longer than a key can stay in progress. */

import type { Contract } from "../contract.ts";
import { type Answered, matchesAny, name } from "../evidence/answers.ts";
import { type KeyUse, keyUses, withoutConflicts } from "../evidence/conflict.ts";
import type { History } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation } from "../invariant.ts";

/** Seconds are rounded up, and a wait of a moment is told as one second. */
const ROUNDING_SECONDS = 1;

export const conflictInvitesRetry = {
  id: "conflict-invites-retry",
  level: "must",
  statement: "A conflict answer carries an honest Retry-After, where the contract asks for one or the target sends one",

  check(history: History) {
    const { contract } = history;
    const silent = withoutConflicts(contract);
    if (silent !== null) return silent;
    const violations: Violation[] = [];
    let checked = 0;
    for (const use of keyUses(history)) {
      const judged = use.conflicts.filter((conflict) => !mayMeanOtherPayload(contract, use, conflict));
      checked += judged.length;
      const accused = firstFault(contract, judged);
      if (accused !== null) violations.push(accused);
    }
    return verdictOf(checked, violations, "no attempt was told that its duplicate is in flight");
  },
} as const satisfies Invariant;

/** Nobody is invited to retry with another payload, also not while the first one is in flight. */
function mayMeanOtherPayload({ mismatchInFlight }: Contract, { standsForOne }: KeyUse, conflict: Answered): boolean {
  if (standsForOne) return false;
  return mismatchInFlight === "undocumented" || matchesAny(mismatchInFlight, conflict.outcome);
}

function firstFault(contract: Contract, conflicts: readonly Answered[]): Violation | null {
  for (const conflict of conflicts) {
    const value = conflict.outcome.headers["retry-after"];
    const expected = value === undefined ? missing(contract) : fault(contract, value);
    if (expected === null) continue;
    return violation([conflict], {
      message: `${name(conflict)} was told to wait, ${value === undefined ? "and not for how long" : `with Retry-After: ${value}`}`,
      expected,
      actual: value === undefined ? "no Retry-After" : `Retry-After: ${value}`,
    });
  }
  return null;
}

function missing({ inFlight }: Contract): string | null {
  return inFlight.retryAfter === "required" ? "a Retry-After header" : null;
}

/** What the value should have been, or null when it is right. */
function fault({ leaseMs }: Contract, value: string): string | null {
  if (!/^\d+$/.test(value)) return isHttpDate(value) ? null : "Retry-After as seconds or as an HTTP date";
  if (leaseMs === "undocumented") return null;
  const longest = Math.ceil(leaseMs / 1000) + ROUNDING_SECONDS;
  return Number(value) <= longest ? null : `Retry-After of at most ${longest} seconds, since a lease is ${leaseMs} ms`;
}

const DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const LONG_DAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day";
const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
const DATE = "(?:0[1-9]|[12]\\d|3[01])";
const TIME = "(?:[01]\\d|2[0-3]):[0-5]\\d:(?:[0-5]\\d|60)";

/** The three forms of RFC 9110 section 5.6.7: the one to send, and two that recipients must still accept. */
const HTTP_DATES = [
  new RegExp(`^${DAY}, ${DATE} ${MONTH} \\d{4} ${TIME} GMT$`),
  new RegExp(`^${LONG_DAY}, ${DATE}-${MONTH}-\\d{2} ${TIME} GMT$`),
  new RegExp(`^${DAY} ${MONTH} (?:${DATE}| [1-9]) ${TIME} \\d{4}$`),
];

function isHttpDate(value: string): boolean {
  return HTTP_DATES.some((form) => form.test(value));
}

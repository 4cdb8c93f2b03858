/** Headers that a key layer uses among its own parts do nothing when a client sends them. */

import type { Contract } from "../contract.ts";
import { describe, isMarkedReplay, isServerError, isSuccess, isTurnedAway, name } from "../evidence/answers.ts";
import { groupsWithOwnKey, loneFirst } from "../evidence/key-group.ts";
import type { History, Recorded } from "../history.ts";
import { type Invariant, undocumented, type Violation, verdictOf, violation } from "../invariant.ts";

export const internalMarkersAreInert = {
  id: "internal-markers-are-inert",
  level: "must",
  statement: "A first request that carries the key layer's internal headers executes like any other",

  check(history: History) {
    const { contract } = history;
    if (contract.internalHeaders.length === 0) return undocumented("internal headers");
    const violations: Violation[] = [];
    let checked = 0;
    for (const group of groupsWithOwnKey(history)) {
      if (!group.kinds.some(({ forged }) => forged)) continue;
      const first = loneFirst(group);
      if (first === null || !first.attempt.forged || first.attempt.payload.kind === "invalid") continue;
      if (isServerError(first) || isTurnedAway(first)) continue;
      checked += 1;
      const fault = faultOf(history, first);
      if (fault === null) continue;
      violations.push(
        violation([first], {
          message: `${name(first)} was the first attempt with its key, carried ${contract.internalHeaders.join(", ")}, and ${fault.what}`,
          expected: "a success that is not marked as a replay",
          actual: fault.actual,
        }),
      );
    }
    return verdictOf(checked, violations, "no first attempt with internal headers was answered");
  },
} as const satisfies Invariant;

function faultOf(history: History, first: Recorded): { readonly what: string; readonly actual: string } | null {
  if (!isSuccess(history, first)) return { what: "was no success", actual: describe(first.outcome) };
  if (isMarkedReplay(history.contract, first) !== true) return null;
  return { what: "its answer is marked as a replay", actual: markerText(history.contract) };
}

function markerText({ replay: { marker } }: Contract): string {
  return marker === null ? "" : `${marker.header}: ${marker.value}`;
}

/** A client can tell a stored answer from a first one: replays carry the contract's marker, first answers do not. */
import { type Answered, isMarkedReplay, isSuccess, name } from "../evidence/answers.ts";
import { ownGroups } from "../evidence/key-scope.ts";
import { deviation, ownedKey } from "../evidence/owner.ts";
import type { History, KeyGroup, Recorded } from "../history.ts";
import { type Invariant, undocumented, type Violation, verdictOf, violation } from "../invariant.ts";

export const replayIsMarked = {
  id: "replay-is-marked",
  level: "should",
  statement: "A replayed answer carries the promised marker, and a first answer does not",

  check(history: History) {
    const { contract } = history;
    if (contract.replay.marker === null) return undocumented("a replay marker");
    const violations: Violation[] = [];
    let checked = 0;
    for (const group of ownGroups(history)) {
      const owned = ownedKey(history, group);
      if (owned === null) continue;
      const { owner } = owned;
      const replays = owned.later.filter((later) => isReplay(history, owner, later));
      const isFirst = executedItself(group, owner);
      checked += replays.length + (isFirst ? 1 : 0);
      const unmarked = replays.find((replay) => isMarkedReplay(contract, replay) === false);
      if (isFirst && isMarkedReplay(contract, owner)) violations.push(wronglyMarked(history, owner));
      else if (unmarked !== undefined) violations.push(notMarked(history, owner, unmarked));
    }
    return verdictOf(checked, violations, "no key was answered with a success whose kind is known");
  },
} as const satisfies Invariant;

/** Another answer is none: the request was executed anew, and that is not for this invariant to say. */
function isReplay(history: History, owner: Answered, later: Answered): boolean {
  return isSuccess(history, later) && deviation(history, owner, later) === null;
}

/** Nothing else was sent with the key until the owner had its answer. */
function executedItself({ attempts: [first, second] }: KeyGroup, owner: Recorded): boolean {
  return first === owner && (second === undefined || second.invokedAt > owner.completedAt);
}

function notMarked({ contract }: History, owner: Answered, replay: Answered): Violation {
  return violation([owner, replay], {
    message: `${name(replay)} repeats the answer of ${name(owner)} and is not marked as a replay`,
    expected: markerText(contract.replay.marker),
    actual: foundText(contract.replay.marker, replay),
  });
}

function wronglyMarked({ contract }: History, owner: Answered): Violation {
  return violation([owner], {
    message: `${name(owner)} was the first with its key and is marked as a replay`,
    expected: `not ${markerText(contract.replay.marker)}`,
    actual: foundText(contract.replay.marker, owner),
  });
}

type Marker = History["contract"]["replay"]["marker"];

function markerText(marker: Marker): string {
  return marker === null ? "no marker" : `${marker.header}: ${marker.value}`;
}

function foundText(marker: Marker, { outcome }: Answered): string {
  const value = marker === null ? undefined : outcome.headers[marker.header.toLowerCase()];
  return value === undefined ? "no such header" : `${marker?.header}: ${value}`;
}

/**
 * Takeovers in a history: the holder of a key was paused, killed, or held up in one of its phases, others were
 * told to wait, and later one of them was served, so the lease had been taken from the holder.
 */

import type { Effect } from "../event.ts";
import type { FaultWindow, History, KeyGroup, Recorded } from "../history.ts";
import type { Micros } from "../operation.ts";
import { type Answered, isConflict, isMismatch, isSuccess, withinRetention } from "./answers.ts";
import { ownGroups, requestOf } from "./key-scope.ts";
import { countUntil } from "./spans.ts";

export interface Takeover {
  readonly group: KeyGroup;
  readonly window: FaultWindow;
  readonly kind: HeldUp;
  /** In flight where the fault struck when it struck; one of them had the key. */
  readonly holders: readonly Recorded[];
  /** The first success that another attempt got meanwhile. */
  readonly taker: Answered;
  /** All successes of the taker's request meanwhile, the taker's first. */
  readonly successes: readonly Answered[];
  /** The last reading of the effects during a pause and after the taker's answer. */
  readonly observed: Reading | null;
}

/** What becomes of a holder. A paused or delayed one wakes up, the others never do. */
type HeldUp = "paused" | "killed" | "hung" | "delayed";

function kindOf({ fault }: FaultWindow): HeldUp | null {
  switch (fault) {
    case "pause-replica":
      return "paused";
    case "kill-replica":
      return "killed";
    case "hang":
      return "hung";
    case "delay":
      return "delayed";
    default:
      return null;
  }
}

/** A reading of the books that did read the effects. */
interface Reading {
  readonly at: Micros;
  readonly effects: ReadonlyMap<string, readonly Effect[]>;
}

export function takeoversOf(history: History): readonly Takeover[] {
  const places = windowsByPlace(history.faults);
  if (places.size === 0) return [];
  const readings = history.observations.flatMap(({ at, effects }) => (effects === null ? [] : { at, effects }));
  return ownGroups(history).flatMap((group) => {
    const windows = new Set(group.attempts.flatMap((one) => windowsOver(places, one)));
    return [...windows].flatMap((window) => takeoverIn(history, group, window, readings) ?? []);
  });
}

/** Where a fault finds holders: on a replica, or, of one operation alone, in a phase. */
type Place = number | string;

/** In order of time. */
function windowsByPlace(faults: readonly FaultWindow[]): ReadonlyMap<Place, readonly FaultWindow[]> {
  const byPlace = new Map<Place, FaultWindow[]>();
  for (const window of [...faults].sort((one, other) => one.from - other.from)) {
    const place = placeOf(window);
    if (place === null) continue;
    const known = byPlace.get(place);
    if (known) known.push(window);
    else byPlace.set(place, [window]);
  }
  return byPlace;
}

function placeOf(window: FaultWindow): Place | null {
  switch (kindOf(window)) {
    case "paused":
    case "killed":
      return window.replica;
    case "hung":
    case "delayed":
      return window.operation;
    case null:
      return null;
  }
}

/** At each of the attempt's places the first fault that struck while it was in flight. */
function windowsOver(
  places: ReadonlyMap<Place, readonly FaultWindow[]>,
  { attempt, invokedAt, completedAt }: Recorded,
): readonly FaultWindow[] {
  return [attempt.replica, attempt.operation].flatMap((place) => {
    const own = places.get(place) ?? [];
    const first = own[countUntil(own, invokedAt, ({ from }) => from)];
    return first !== undefined && first.from < completedAt ? [first] : [];
  });
}

function takeoverIn(
  history: History,
  group: KeyGroup,
  window: FaultWindow,
  readings: readonly Reading[],
): Takeover | null {
  const kind = kindOf(window);
  if (kind === null) return null;
  const { contract } = history;
  const attempts = withinRetention(contract, group);
  // Who never wakes up can be taken over at any later time.
  const until = kind === "killed" || kind === "hung" ? Infinity : window.until;
  const during = attempts
    .filter(({ completedAt }) => window.from < completedAt && completedAt < until)
    .sort((one, other) => one.completedAt - other.completedAt);
  const taker = during.find((one): one is Answered => isSuccess(history, one));
  if (taker === undefined || isHeldUp(window, kind, taker)) return null;
  const request = requestOf(contract, taker.attempt);
  const isSame = ({ attempt }: Recorded): boolean => requestOf(contract, attempt) === request;
  const holders = attempts.filter((one) => isSame(one) && wasStopped(window, one));
  // Where one status means both, it cannot mean another payload to a key that had only one.
  const isOne = group.attempts.every(isSame);
  // Told to wait before the taker was even sent, by one that was not stopped: the key was held.
  const isEvidence = (one: Recorded): boolean =>
    one.completedAt < taker.invokedAt &&
    isSame(one) &&
    !wasStopped(window, one) &&
    isConflict(contract, one) &&
    (isOne || !isMismatch(contract, one));
  if (holders.length === 0 || !during.some(isEvidence)) return null;
  const successes = during.filter(
    (one): one is Answered => isSame(one) && isSuccess(history, one) && !isHeldUp(window, kind, one),
  );
  const observed = kind === "paused" ? lastObserved(readings, taker, window) : null;
  return { group, window, kind, holders, taker, successes, observed };
}

/** A paused replica serves nobody before it goes on; elsewhere only the holders themselves are held up. */
function isHeldUp(window: FaultWindow, kind: HeldUp, one: Recorded): boolean {
  return kind === "paused" ? one.attempt.replica === window.replica : wasStopped(window, one);
}

/** In flight where the fault struck. Whatever such an attempt answers when it wakes up, it may have had the key. */
function wasStopped({ replica, operation, fault, from }: FaultWindow, one: Recorded): boolean {
  const isThere = fault === "hang" || fault === "delay" ? one.attempt.operation === operation : true;
  return (
    isThere &&
    (replica === null || one.attempt.replica === replica) &&
    one.invokedAt < from &&
    one.completedAt > from &&
    one.outcome.kind !== "refused"
  );
}

function lastObserved(readings: readonly Reading[], taker: Answered, { until }: FaultWindow): Reading | null {
  const last = readings[countUntil(readings, until, ({ at }) => at) - 1];
  return last !== undefined && last.at > taker.completedAt ? last : null;
}

/** Everything that was sent with the key, and the pause, lie within retention: nothing may have been forgotten. */
export function isRemembered({ contract }: History, { group, window }: Takeover): boolean {
  const [first] = group.attempts;
  if (first === undefined || contract.retentionMs === "undocumented") return true;
  const end = first.invokedAt + contract.retentionMs * 1000;
  return window.until < end && withinRetention(contract, group).length === group.attempts.length;
}

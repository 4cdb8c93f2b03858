/**
 * Takeovers in a history: a replica was paused while it held a key, others were told to wait, and later one
 * of them was served, so the lease had been taken from the paused holder.
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
  /** In flight on the paused replica when it stopped; one of them had the key. */
  readonly holders: readonly Recorded[];
  /** The first success that another replica answered during the pause. */
  readonly taker: Answered;
  /** All successes of the taker's request that were answered during the pause, the taker's first. */
  readonly successes: readonly Answered[];
  /** The last reading of the effects during the pause and after the taker's answer. */
  readonly observed: Reading | null;
}

/** A reading of the books that did read the effects. */
interface Reading {
  readonly at: Micros;
  readonly effects: ReadonlyMap<string, readonly Effect[]>;
}

export function takeoversOf(history: History): readonly Takeover[] {
  const pauses = pausesByReplica(history.faults);
  if (pauses.size === 0) return [];
  const readings = history.observations.flatMap(({ at, effects }) => (effects === null ? [] : { at, effects }));
  return ownGroups(history).flatMap((group) => {
    const windows = new Set(group.attempts.flatMap((one) => pauseOver(pauses, one) ?? []));
    return [...windows].flatMap((window) => takeoverIn(history, group, window, readings) ?? []);
  });
}

/** In order of time. */
function pausesByReplica(faults: readonly FaultWindow[]): ReadonlyMap<number, readonly FaultWindow[]> {
  const byReplica = new Map<number, FaultWindow[]>();
  const pauses = faults.filter(({ fault }) => fault === "pause-replica");
  for (const pause of pauses.sort((one, other) => one.from - other.from)) {
    if (pause.replica === null) continue;
    const known = byReplica.get(pause.replica);
    if (known) known.push(pause);
    else byReplica.set(pause.replica, [pause]);
  }
  return byReplica;
}

/** The first pause of the attempt's replica that began while the attempt was in flight. */
function pauseOver(pauses: ReadonlyMap<number, readonly FaultWindow[]>, one: Recorded): FaultWindow | null {
  const own = pauses.get(one.attempt.replica) ?? [];
  const first = own[countUntil(own, one.invokedAt, ({ from }) => from)];
  return first !== undefined && first.from < one.completedAt ? first : null;
}

function takeoverIn(
  history: History,
  group: KeyGroup,
  window: FaultWindow,
  readings: readonly Reading[],
): Takeover | null {
  const { contract } = history;
  const attempts = withinRetention(contract, group);
  const during = attempts
    .filter(({ completedAt }) => window.from < completedAt && completedAt < window.until)
    .sort((one, other) => one.completedAt - other.completedAt);
  const taker = during.find((one): one is Answered => isSuccess(history, one));
  if (taker === undefined || taker.attempt.replica === window.replica) return null;
  const request = requestOf(contract, taker.attempt);
  const isSame = ({ attempt }: Recorded): boolean => requestOf(contract, attempt) === request;
  const holders = attempts.filter((one) => isSame(one) && wasStopped(window, one));
  // Told to wait before the taker was even sent, by a replica that was not stopped: the key was held.
  const isEvidence = (one: Recorded): boolean =>
    one.completedAt < taker.invokedAt &&
    isSame(one) &&
    !wasStopped(window, one) &&
    isConflict(contract, one) &&
    !isMismatch(contract, one);
  if (holders.length === 0 || !during.some(isEvidence)) return null;
  const successes = during.filter(
    (one): one is Answered => isSame(one) && isSuccess(history, one) && one.attempt.replica !== window.replica,
  );
  return { group, window, holders, taker, successes, observed: lastObserved(readings, taker, window) };
}

/** In flight on the replica when it stopped. Whatever such an attempt answers when it wakes up, it may have had the key. */
function wasStopped({ replica, from }: FaultWindow, one: Recorded): boolean {
  return (
    one.attempt.replica === replica && one.invokedAt < from && one.completedAt > from && one.outcome.kind !== "refused"
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

/**
 * Words for brute-force checkers, written a second time from the contract's own text, for the histories of
 * `arbitrary-history.ts` alone (success is 201, refused as invalid is 400, patterns are bare statuses). None
 * of it may be shared with the judge: the two are there to disagree.
 */
import type { Contract } from "../contract.ts";
import type { FaultWindow, History, Recorded } from "../history.ts";

export function statusOf({ outcome }: Recorded): number {
  return outcome.kind === "responded" ? outcome.status : 0;
}

export function succeeded(one: Recorded): boolean {
  return statusOf(one) === 201;
}

export function headerOf({ outcome }: Recorded, header: string): string | undefined {
  return outcome.kind === "responded" ? outcome.headers[header] : undefined;
}

export function bodyOf({ outcome }: Recorded): string {
  return outcome.kind === "responded" ? outcome.body.text : "";
}

export function toldToWait({ inFlight: { answers } }: Contract, one: Recorded): boolean {
  return answers !== "undocumented" && answers.some(({ status }) => status === statusOf(one));
}

export function toldOtherPayload({ mismatch }: Contract, one: Recorded): boolean {
  return mismatch !== "undocumented" && mismatch.some(({ status }) => status === statusOf(one));
}

/** Refused for who asks, or how often. */
export function turnedAway(contract: Contract, one: Recorded): boolean {
  const says = statusOf(one);
  return (
    (says === 401 || says === 403 || says === 429) && !toldToWait(contract, one) && !toldOtherPayload(contract, one)
  );
}

/** What the body says, however it is spelled: these answers know no spaces within their values. */
export function saidIn(one: Recorded): string {
  return bodyOf(one).replaceAll(" ", "");
}

/** The same answer, or another spelling of it. */
export function sameAnswer({ replay }: Contract, one: Recorded, other: Recorded): boolean {
  return statusOf(one) === statusOf(other) && (replay.body === "current-state" || saidIn(one) === saidIn(other));
}

/** The same answer byte for byte, where the contract promises it so. */
export function sameBytes(contract: Contract, one: Recorded, other: Recorded): boolean {
  return (
    sameAnswer(contract, one, other) && (contract.replay.body === "current-state" || bodyOf(one) === bodyOf(other))
  );
}

export function sameRequest({ fingerprint }: Contract, one: Recorded, other: Recorded): boolean {
  if (one.attempt.fingerprint !== other.attempt.fingerprint) return false;
  const spelling = ({ attempt: { payload } }: Recorded): string => (payload.kind === "spelling" ? payload.name : "");
  return fingerprint === "canonical" || fingerprint === "none" || spelling(one) === spelling(other);
}

export function sameText({ key }: Contract, one: Recorded, other: Recorded): boolean {
  const [a, b] = [one.attempt.key, other.attempt.key];
  if (a === null || b === null) return false;
  return a === b || (key.caseSensitive === "undocumented" && a.toLowerCase() === b.toLowerCase());
}

/** The same effective key, beyond doubt. */
export function sameKey(one: Recorded, other: Recorded): boolean {
  const [a, b] = [one.attempt, other.attempt];
  return a.key !== null && a.key === b.key && a.caller === b.caller && a.endpoint === b.endpoint && a.query === b.query;
}

/** The same effective key, unless the contract promises otherwise. */
export function maybeSameKey(contract: Contract, one: Recorded, other: Recorded): boolean {
  const { scope } = contract;
  const isKeptApart = (treatment: typeof scope.caller, a: string, b: string): boolean =>
    a !== b && JSON.stringify(treatment) === '["separate"]';
  return (
    sameText(contract, one, other) &&
    !isKeptApart(scope.caller, one.attempt.caller, other.attempt.caller) &&
    !isKeptApart(scope.endpoint, one.attempt.endpoint, other.attempt.endpoint) &&
    !isKeptApart(scope.query, one.attempt.query, other.attempt.query)
  );
}

/** Every key that certainly is one, with all its attempts. */
export function certainKeys({ contract, attempts }: History): readonly (readonly Recorded[])[] {
  const firsts = attempts.filter(
    (one, index) => one.attempt.key !== null && !attempts.slice(0, index).some((other) => sameKey(one, other)),
  );
  return firsts
    .map((first) => attempts.filter((one) => sameKey(first, one)))
    .filter(
      ([first, ...others]) =>
        first !== undefined &&
        [first, ...others].every(({ attempt }) => attempt.malformed === null) &&
        attempts.every((one) => sameKey(first, one) || !maybeSameKey(contract, first, one)),
    );
}

/** Those of a key's attempts that ended before anything may be forgotten. */
export function remembered({ retentionMs }: Contract, ofOneKey: readonly Recorded[]): readonly Recorded[] {
  if (retentionMs === "undocumented") return ofOneKey;
  const start = Math.min(...ofOneKey.map(({ invokedAt }) => invokedAt));
  return ofOneKey.filter(({ invokedAt, completedAt }) => {
    const end = Number.isFinite(completedAt) ? completedAt : invokedAt;
    return end < start + retentionMs * 1000;
  });
}

/** The success that was received first, the one sent first of those received together. */
export function earliestSuccess(attempts: readonly Recorded[]): Recorded | undefined {
  const successes = attempts.filter(succeeded);
  return successes.find((one) => successes.every(({ completedAt }) => one.completedAt <= completedAt));
}

/** Do the two times have a moment in common? */
export function meet(a: number, b: number, c: number, d: number): boolean {
  return a <= d && c <= b;
}

/** Reached by a fault that was at work, or healed less than two seconds before. */
export function underFault(history: History, one: Recorded): boolean {
  return faultsOver(history, one).length > 0;
}

export function faultsOver(history: History, one: Recorded): readonly FaultWindow[] {
  return history.faults.filter(
    (window) =>
      meet(window.from, window.until + 2_000_000, one.invokedAt, one.completedAt) && mayReach(history, window, one),
  );
}

/** May a fault be felt by an attempt, whenever it is made? */
function mayReach(
  history: History,
  window: FaultWindow,
  one: { readonly attempt: Pick<Recorded["attempt"], "key" | "operation" | "replica"> },
): boolean {
  const { fault, replica, operation } = window;
  const withItsKey = history.attempts.filter(({ attempt: { key, operation: own } }) =>
    key === null
      ? one.attempt.key === null && own === one.attempt.operation
      : key === one.attempt.key ||
        (history.contract.key.caseSensitive === "undocumented" && key.toLowerCase() === one.attempt.key?.toLowerCase()),
  );
  const isPlaced = withItsKey.some(({ attempt }) => attempt.operation === operation);
  if (["delay", "throw", "hang", "processor"].includes(fault)) return operation === null || isPlaced;
  if (!["pause-replica", "kill-replica", "link-down", "toxic"].includes(fault)) return true;
  return replica === one.attempt.replica || isPlaced || withItsKey.some((other) => wasCaught(window, other));
}

/** In flight on the replica when it was struck. */
function wasCaught({ replica, from }: FaultWindow, { attempt, invokedAt, completedAt }: Recorded): boolean {
  return attempt.replica === replica && invokedAt < from && completedAt > from;
}

/** From when on the key of two attempts of one operation is bound to resolve. */
export function boundFrom(history: History, first: Recorded, last: Recorded): number {
  const { key, operation } = first.attempt;
  const moments = history.faults.flatMap((window) => {
    const isOnce = ["delay", "throw", "hang", "pause-replica", "kill-replica"].includes(window.fault);
    const end = isOnce ? window.from : window.until;
    if (!meet(window.from, end, first.invokedAt, last.invokedAt)) return [];
    const isFelt = isOnce
      ? mayReach(history, window, { attempt: { key, operation, replica: -1 } })
      : [first, last].some((one) => mayReach(history, window, one));
    return isFelt ? [end] : [];
  });
  return Math.max(first.invokedAt, ...moments);
}

/** The verdict that counts give. */
export function resultOf(checked: number, violated: number): string {
  if (violated > 0) return "fail";
  return checked > 0 ? "pass" : "skip";
}

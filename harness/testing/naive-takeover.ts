/** For brute-force checkers: takeovers found by trying every pause with every key, written a second time. */
import type { FaultWindow, History, Recorded } from "../history.ts";
import { certainKeys, earliestSuccess, remembered, sameRequest, succeeded, toldToWait } from "./naive-answers.ts";

export interface NaiveTakeover {
  /** Everything with the key, and those that were certainly not forgotten. */
  readonly all: readonly Recorded[];
  readonly window: FaultWindow;
  readonly taker: Recorded;
  readonly holders: readonly Recorded[];
  /** Successes of other replicas during the pause. */
  readonly successes: readonly Recorded[];
  /** Nothing about this key can have been forgotten. */
  readonly isSafe: boolean;
}

export function naiveTakeovers(history: History): readonly NaiveTakeover[] {
  return history.faults
    .filter(({ fault }) => ["pause-replica", "kill-replica", "hang", "delay"].includes(fault))
    .flatMap((window) => certainKeys(history).flatMap((all) => naiveTakeover(history, window, all) ?? []));
}

function naiveTakeover(history: History, window: FaultWindow, all: readonly Recorded[]): NaiveTakeover | null {
  const { contract } = history;
  const attempts = remembered(contract, all);
  const isPause = window.fault === "pause-replica";
  const until = window.fault === "kill-replica" || window.fault === "hang" ? Infinity : window.until;
  const during = attempts.filter(({ completedAt }) => completedAt > window.from && completedAt < until);
  const taker = earliestSuccess(during);
  const isOverPause = (one: Recorded) =>
    one.attempt.replica === window.replica &&
    (isPause || window.fault === "kill-replica" || one.attempt.operation === window.operation) &&
    one.invokedAt < window.from &&
    one.completedAt > window.from &&
    one.outcome.kind !== "refused";
  const isHeldUp = (one: Recorded) => (isPause ? one.attempt.replica === window.replica : isOverPause(one));
  if (taker === undefined || isHeldUp(taker)) return null;
  const holders = attempts.filter(
    (one) => isOverPause(one) && one.outcome.kind !== "refused" && sameRequest(contract, one, taker),
  );
  const wasTold = during.some(
    (one) =>
      toldToWait(contract, one) &&
      !isOverPause(one) &&
      sameRequest(contract, one, taker) &&
      one.completedAt < taker.invokedAt,
  );
  if (holders.length === 0 || !wasTold) return null;
  const { retentionMs } = contract;
  const start = Math.min(...all.map(({ invokedAt }) => invokedAt));
  return {
    all,
    window,
    taker,
    holders,
    successes: during.filter((one) => succeeded(one) && !isHeldUp(one) && sameRequest(contract, one, taker)),
    isSafe:
      isPause &&
      (retentionMs === "undocumented" || (window.until < start + retentionMs * 1000 && attempts.length === all.length)),
  };
}

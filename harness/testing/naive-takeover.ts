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
    .filter(({ fault }) => fault === "pause-replica")
    .flatMap((window) => certainKeys(history).flatMap((all) => naiveTakeover(history, window, all) ?? []));
}

function naiveTakeover(history: History, window: FaultWindow, all: readonly Recorded[]): NaiveTakeover | null {
  const { contract } = history;
  const attempts = remembered(contract, all);
  const during = attempts.filter(({ completedAt }) => completedAt > window.from && completedAt < window.until);
  const taker = earliestSuccess(during);
  if (taker === undefined || taker.attempt.replica === window.replica) return null;
  const isOverPause = (one: Recorded) =>
    one.attempt.replica === window.replica && one.invokedAt < window.from && one.completedAt > window.from;
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
    successes: during.filter(
      (one) => succeeded(one) && one.attempt.replica !== window.replica && sameRequest(contract, one, taker),
    ),
    isSafe:
      retentionMs === "undocumented" || (window.until < start + retentionMs * 1000 && attempts.length === all.length),
  };
}

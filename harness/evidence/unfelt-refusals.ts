/**
 * What the database refused, and every client had its success all the same. The target may have repeated it, or gone on
 * without it; or it was not a client's at all but some job's in the background, and then the operation that was to be
 * struck was not. Nobody outside can tell these apart, so it is said.
 */
import type { FaultWindow, History } from "../history.ts";
import { isSuccess } from "./answers.ts";

export function unfeltRefusals(history: History): string | null {
  const refusals = history.faults.filter(({ fault, struck }) => fault === "write-refused" && struck !== undefined);
  const unfelt = refusals.filter((window) => isUnfelt(history, window)).map(({ struck }) => struck);
  if (unfelt.length === 0) return null;
  return `${history.scenario.id}: of ${refusals.length} writes and commits that the database refused, ${unfelt.length} failed no request (${[...new Set(unfelt)].join("; ")}): the target repeats them or does without, or they were a background job's`;
}

function isUnfelt(history: History, { from, until }: FaultWindow): boolean {
  const during = history.attempts.filter(({ invokedAt, completedAt }) => invokedAt < until && completedAt > from);
  return during.every((recorded) => isSuccess(history, recorded));
}

/** Attempts of a kind that most histories have none of, which is seen at once. */
import type { History, Recorded } from "../history.ts";
import type { Attempt } from "../operation.ts";

/** In order of invocation. `isWanted` must not look at id and replica. */
export function attemptsOfKind(history: History, isWanted: (kind: Attempt) => boolean): readonly Recorded[] {
  const isThere = history.operations.some(({ kinds }) => kinds.some(isWanted));
  return isThere ? history.attempts.filter(({ attempt }) => isWanted(attempt)) : [];
}

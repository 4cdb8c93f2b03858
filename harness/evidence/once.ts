/** What several invariants ask of one history is worked out once. */
import type { History } from "../history.ts";

/**
 * The function's answer of each history. It is forgotten together with the history's attempts (`putAway`), since it
 * mostly consists of them.
 */
export function oncePerHistory<Answer>(work: (history: History) => Answer): (history: History) => Answer {
  const known = new WeakMap<History["attempts"], { readonly history: History; readonly answer: Answer }>();
  return (history) => {
    const { attempts } = history;
    const before = known.get(attempts);
    // Another history with the same attempts may have another contract.
    if (before?.history === history) return before.answer;
    const answer = work(history);
    known.set(attempts, { history, answer });
    return answer;
  };
}

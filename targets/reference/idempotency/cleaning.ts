/** Runs the cleanup again and again: one run after the other, however long one takes, until it is stopped. */
import { setTimeout as sleep } from "node:timers/promises";

export type Clean = (signal: AbortSignal) => Promise<void>;

/** Gives the function that stops it; that one settles when no run is under way any more. */
export function cleanRegularly(everyMs: number, clean: Clean): () => Promise<void> {
  const stop = new AbortController();
  const stopped = repeat(everyMs, clean, stop.signal);
  return async () => {
    stop.abort();
    await stopped;
  };
}

async function repeat(everyMs: number, clean: Clean, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // Aborting is how the wait is meant to end.
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
    if (!signal.aborted) await clean(signal);
  }
}

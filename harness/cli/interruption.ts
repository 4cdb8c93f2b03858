/** Ctrl-C and `kill` stop a run in order: what was recorded is judged, what was started is taken down. */

/** Aborted by the first SIGINT or SIGTERM. A second one ends the process at once; the keeper then cleans up. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  const signals = ["SIGINT", "SIGTERM"] as const;
  const stop = (): void => {
    for (const signal of signals) process.off(signal, stop);
    controller.abort();
  };
  for (const signal of signals) process.on(signal, stop);
  return controller.signal;
}

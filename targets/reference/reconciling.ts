/** The reconciler's process: looks at the held keys again and again until it is told to end. */
import { setTimeout as sleep } from "node:timers/promises";
import { book } from "./charges/charge.ts";
import { type ReconcileOptions, type ReconcilerSteps, reconcile } from "./idempotency/reconcile.ts";
import { MIGRATIONS, migrate } from "./migrate.ts";
import { openPool } from "./pool.ts";
import { reconcilerSettingsOf } from "./settings.ts";

export async function keepReconciling(steps?: Partial<ReconcilerSteps>): Promise<void> {
  const settings = reconcilerSettingsOf(process.env);
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop.abort());
  const pool = openPool(settings);
  // It may be started before the service.
  await migrate(pool, MIGRATIONS);
  const { reconcileEveryMs: everyMs, reconcileTries: triesMax, failpointsUrl, replica } = settings;
  const options: ReconcileOptions = {
    ...settings,
    pool,
    everyMs,
    triesMax,
    processor: { url: settings.processorUrl, timeoutMs: settings.processorTimeoutMs },
    failpoints: failpointsUrl === null ? null : { url: failpointsUrl, replica: replica || "reconciler" },
    effect: (intent) => (transaction, outcome) => book(transaction, intent, outcome),
    onError: (error) => console.error("a key could not be reconciled:", error),
    signal: stop.signal,
    ...(steps ? { steps } : {}),
  };
  while (!stop.signal.aborted) {
    // A database that is away now may be back for the next round.
    await reconcile(options).catch((error: unknown) => console.error("reconciliation failed:", error));
    // Aborting is how the wait is meant to end.
    await sleep(everyMs, undefined, { signal: stop.signal }).catch(() => undefined);
  }
  await pool.end();
}

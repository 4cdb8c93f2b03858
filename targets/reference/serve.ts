/** Opens the database, builds the service once or twice, and listens until it is told to end. */
import { buildApp } from "./app.ts";
import { cleanUp } from "./idempotency/clean-up.ts";
import { periodMsOf } from "./idempotency/partitioned/partitions.ts";
import { partitionedSteps } from "./idempotency/partitioned/steps.ts";
import type { Steps } from "./idempotency/plugin.ts";
import { MIGRATIONS, migrate } from "./migrate.ts";
import { openPool } from "./pool.ts";
import { type Settings, settingsOf } from "./settings.ts";

export async function serve(steps?: Partial<Steps>): Promise<void> {
  const settings = settingsOf(process.env);
  const pool = openPool(settings);
  await migrate(pool, MIGRATIONS);
  const options = { ...settings, pool, steps: { ...storeSteps(settings), ...steps } };
  const app = await buildApp({ ...options, http2: false });
  await app.listen({ port: settings.port, host: "127.0.0.1" });
  const second = settings.http2Port === null ? null : await buildApp({ ...options, http2: true });
  if (second) await second.listen({ port: settings.http2Port ?? 0, host: "127.0.0.1" });

  const close = async (): Promise<void> => {
    await Promise.all([app.close(), second?.close()]);
    await pool.end();
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => void close());
}

function storeSteps({ keyStore, retentionMs, cleanUpBatchRows: batchRows }: Settings): Partial<Steps> {
  return keyStore === "partitioned"
    ? partitionedSteps(periodMsOf(retentionMs))
    : { cleanUp: (pool, signal) => cleanUp(pool, { batchRows, signal }) };
}

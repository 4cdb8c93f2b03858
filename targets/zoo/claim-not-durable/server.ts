/**
 * Defect: the key records are in an unlogged table. When the database crashes it comes back without them, while
 * everything they stood for is still in the books: each retry from before executes again.
 *
 * In the wild: keys in Redis without an append-only file, or with one that is written once a second; unlogged
 * tables and `synchronous_commit = off`, chosen because "keys are only a cache".
 *
 * Why it looks right: it is faster, nothing is lost when the service crashes or is restarted, and the database
 * hardly ever does.
 */
import { MIGRATIONS, migrate } from "../../reference/migrate.ts";
import { openPool } from "../../reference/pool.ts";
import { serve } from "../../reference/serve.ts";
import { settingsOf } from "../../reference/settings.ts";

/** Does nothing when the other replica was faster. */
async function keepRecordsUnlogged(): Promise<void> {
  const pool = openPool(settingsOf(process.env));
  await migrate(pool, MIGRATIONS);
  await pool.query("alter table idempotency_keys set unlogged");
  await pool.end();
}

await keepRecordsUnlogged();
await serve();

/** Applies the numbered migrations that are missing, each once, also when replicas start together. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pool, PoolClient } from "pg";
import { inTransaction } from "./idempotency/complete.ts";

/** They are not compiled: they stay where they are written. */
export const MIGRATIONS = join(import.meta.dirname, "..", "..", "..", "targets", "reference", "migrations");

/** Any number that nothing else in the database uses for an advisory lock. */
const MIGRATION_LOCK = 7_229_100_411;

/** Without the limit of pool.ts: reading a file takes as long as it takes. */
const BEGIN = "begin; set local idle_in_transaction_session_timeout = 0";

export async function migrate(pool: Pool, directory: string): Promise<void> {
  await inTransaction(pool, (transaction) => applyMissing(transaction, directory), BEGIN);
}

async function applyMissing(transaction: PoolClient, directory: string): Promise<void> {
  // Until this transaction ends, other replicas wait here and then find everything applied.
  await transaction.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
  await transaction.query("create table if not exists migrations (name text primary key)");
  const { rows } = await transaction.query<{ name: string }>("select name from migrations");
  const applied = new Set(rows.map(({ name }) => name));
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  for (const name of names.filter((candidate) => !applied.has(candidate))) {
    await transaction.query(await readFile(join(directory, name), "utf8"));
    await transaction.query("insert into migrations (name) values ($1)", [name]);
  }
}

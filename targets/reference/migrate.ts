/** Applies the numbered migrations that are missing, each once, also when replicas start together. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pool } from "pg";

/** They are not compiled: they stay where they are written. */
export const MIGRATIONS = join(import.meta.dirname, "..", "..", "..", "targets", "reference", "migrations");

/** Any number that nothing else in the database uses for an advisory lock. */
const MIGRATION_LOCK = 7_229_100_411;

export async function migrate(pool: Pool, directory: string): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    // Reading a file may take as long as it takes.
    await client.query("set local idle_in_transaction_session_timeout = 0");
    // Until this transaction ends, other replicas wait here and then find everything applied.
    await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    await client.query("create table if not exists migrations (name text primary key)");
    const { rows } = await client.query<{ name: string }>("select name from migrations");
    const applied = new Set(rows.map(({ name }) => name));
    const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
    for (const name of names.filter((candidate) => !applied.has(candidate))) {
      await client.query(await readFile(join(directory, name), "utf8"));
      await client.query("insert into migrations (name) values ($1)", [name]);
    }
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

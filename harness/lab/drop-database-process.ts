/**
 * Drops the database of one run, as a process that the keeper starts at the end. When it cannot, the last line
 * it writes is the reason.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { messageOf } from "../fail.ts";
import { SERVER_VARIABLE, serverUrl } from "./postgres-url.ts";

const CONNECT_MS = 3_000;
const BETWEEN_LOOKS_MS = 50;

const [, , name = ""] = process.argv;
try {
  await drop(name, process.env[SERVER_VARIABLE] ?? "");
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}

async function drop(database: string, url: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl(url), connectionTimeoutMillis: CONNECT_MS });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await endCreators(client, database);
    await client.query(`drop database if exists ${database} with (force)`);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** A harness that was killed may have left a session behind that is creating the database now. */
async function endCreators(client: pg.Client, database: string): Promise<void> {
  for (;;) {
    const { rowCount } = await client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1",
      [database],
    );
    if (rowCount === 0) return;
    await sleep(BETWEEN_LOOKS_MS);
  }
}

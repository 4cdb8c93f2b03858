/** What the lab can do to its own database while a target uses it. */
import pg from "pg";
import type { DatabasePowers } from "../fault.ts";
import type { Postgres } from "./postgres.ts";

const CONNECT_MS = 5_000;
const RECOVERY_MS = 10_000;
const BETWEEN_LOOKS_MS = 20;

export function databasePowers({ url, mayBeKilled }: Postgres): DatabasePowers {
  const powers: DatabasePowers = { endSessions: () => withSession(url, (session) => session.query(END_SESSIONS)) };
  // The number of a backend elsewhere is the number of something else here.
  if (!mayBeKilled) return powers;
  return {
    ...powers,
    crash: async () => {
      await crash(url);
      return () => recovered(url);
    },
  };
}

const END_SESSIONS = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`;

/**
 * One backend is killed as the kernel would kill it: the server takes shared memory for damaged, ends every
 * session and recovers from its log. What was not in the log, such as an unlogged table, is gone.
 */
async function crash(url: string): Promise<void> {
  await withSession(url, async (session) => {
    const { rows } = await session.query<{ pid: number }>("select pg_backend_pid() as pid");
    const [row] = rows;
    if (row === undefined) throw new Error("the database names no backend");
    process.kill(row.pid, "SIGKILL");
  });
}

async function recovered(url: string): Promise<void> {
  const end = performance.now() + RECOVERY_MS;
  for (;;) {
    try {
      await withSession(url, (session) => session.query("select 1"));
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS_MS));
    }
  }
}

async function withSession(url: string, work: (session: pg.Client) => Promise<unknown>): Promise<void> {
  const session = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
  // A session that the fault itself ends is no error.
  session.on("error", () => undefined);
  await session.connect();
  try {
    await work(session);
  } finally {
    await session.end().catch(() => undefined);
  }
}

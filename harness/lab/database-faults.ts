/** What the lab can do to its own database while a target uses it. */
import pg from "pg";
import type { Cure, DatabaseError, DatabasePowers } from "../fault.ts";
import type { Postgres } from "./postgres.ts";

const CONNECT_MS = 5_000;
const RECOVERY_MS = 10_000;
const BETWEEN_LOOKS_MS = 20;

export function databasePowers({ url, mayBeKilled }: Postgres): DatabasePowers {
  const powers: DatabasePowers = {
    endSessions: () => withSession(url, async (session) => void (await session.query(END_SESSIONS))),
    readyToFail: (error) => readyToFail(url, error),
    failOnce: () => failOnce(url),
    lockTables: () => lockTables(url),
  };
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

/**
 * How a statement is made to fail exactly once. Each of the target's tables gets two triggers: one for every row
 * that is written, and one for the commit of whoever wrote one. They ask a sequence, since that is the one thing
 * in a database that no rollback takes back and every snapshot sees as it is: at 1 it is time to fail, and who
 * counts it up to 2 is the one who does. Triggers cannot be made while a transaction holds a table, which is why
 * they are made beforehand.
 */
const MAKE_READY = `
  create schema idemproof_faults;
  create sequence idemproof_faults.strikes minvalue 0 start 0;
  create function idemproof_faults.fail_once() returns trigger security definer language plpgsql as $$
    declare
      state bigint;
    begin
      select last_value into state from idemproof_faults.strikes;
      if state = 1 and nextval('idemproof_faults.strikes') = 2 then
        raise exception using errcode = tg_argv[0], message = tg_argv[1];
      end if;
      return new;
    end $$;
  grant usage on schema idemproof_faults to public`;

const TRIGGERS = "idemproof_fails_at_write, idemproof_fails_at_commit".split(", ");

async function readyToFail(url: string, { sqlState, message }: DatabaseError): Promise<Cure> {
  const tables = await withSession(url, async (session) => {
    await session.query(MAKE_READY);
    const names = await tablesOf(session);
    const how = `for each row execute function idemproof_faults.fail_once('${sqlState}', '${message}')`;
    // A table at a time, so that no lock is waited for while another one is held.
    for (const table of names) {
      await session.query(`create trigger ${TRIGGERS[0]} before insert or update on ${table} ${how}`);
      await session.query(`
        create constraint trigger ${TRIGGERS[1]} after insert or update on ${table}
        deferrable initially deferred ${how}`);
    }
    return names;
  });
  return () =>
    withSession(url, async (session) => {
      for (const table of tables) {
        for (const trigger of TRIGGERS) await session.query(`drop trigger if exists ${trigger} on ${table}`);
      }
      await session.query("drop schema idemproof_faults cascade");
    });
}

async function failOnce(url: string): Promise<() => Promise<boolean>> {
  await withSession(url, (session) => session.query("select setval('idemproof_faults.strikes', 1)"));
  return () =>
    withSession(url, async (session) => {
      const { rows } = await session.query<{ struck: boolean }>(
        "select last_value > 1 as struck, setval('idemproof_faults.strikes', 0) from idemproof_faults.strikes",
      );
      return rows[0]?.struck ?? false;
    });
}

/** Partitions do as their table does. */
const TABLES = `
  select format('%I.%I', nspname, relname) as name
  from pg_class join pg_namespace on pg_namespace.oid = relnamespace
  where relkind in ('r', 'p') and not relispartition and nspname !~ '^pg_' and nspname <> 'information_schema'
  order by 1`;

async function tablesOf(session: pg.Client): Promise<readonly string[]> {
  const { rows } = await session.query<{ name: string }>(TABLES);
  return rows.map(({ name }) => name);
}

/** Whoever holds a table holds it for no longer than this, or the fault cannot be injected. */
const LOCK_MS = 5_000;
const IS_WAITED_FOR = "select exists (select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))) as is_felt";

async function lockTables(url: string): Promise<() => Promise<boolean>> {
  const session = await openSession(url);
  try {
    const tables = await tablesOf(session);
    await session.query(`set lock_timeout = ${LOCK_MS}`);
    await session.query("begin");
    if (tables.length > 0) await session.query(`lock table ${tables.join(", ")} in access exclusive mode`);
    const { rows } = await session.query<{ pid: number }>("select pg_backend_pid() as pid");
    return async () => {
      try {
        return await withSession(url, async (other) => {
          const felt = await other.query<{ is_felt: boolean }>(IS_WAITED_FOR, [rows[0]?.pid]);
          return felt.rows[0]?.is_felt ?? false;
        });
      } finally {
        await session.end().catch(() => undefined);
      }
    };
  } catch (error) {
    await session.end().catch(() => undefined);
    throw error;
  }
}

async function withSession<Result>(url: string, work: (session: pg.Client) => Promise<Result>): Promise<Result> {
  const session = await openSession(url);
  try {
    return await work(session);
  } finally {
    await session.end().catch(() => undefined);
  }
}

async function openSession(url: string): Promise<pg.Client> {
  const session = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
  // A session that the fault itself ends is no error.
  session.on("error", () => undefined);
  await session.connect();
  return session;
}

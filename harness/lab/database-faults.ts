/** What the lab can do to its own database while a target uses it. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Failure } from "../fail.ts";
import type { Cure, DatabaseError, DatabasePowers } from "../fault.ts";
import type { Postgres } from "./postgres.ts";

const CONNECT_MS = 5_000;
const RECOVERY_MS = 10_000;
const BETWEEN_LOOKS_MS = 20;

export function databasePowers({ url, mayBeKilled }: Postgres): DatabasePowers {
  const powers: DatabasePowers = {
    endSessions: () => withSession(url, async (session) => void (await session.query(END_SESSIONS))),
    readyToFail: (error) => readyToFail(url, error),
    failOnce: (moment) => failOnce(url, moment),
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
      await sleep(BETWEEN_LOOKS_MS);
    }
  }
}

/**
 * How a statement is made to fail exactly once. Each of the target's tables gets two triggers: one for every row
 * that is written, and one for the commit of whoever wrote one, which counts once however many rows that were. They
 * ask a sequence, since that is the one thing in a database that no rollback takes back and every snapshot sees as
 * it is: above 0 it is so many moments until it is time to fail, and who counts it down to 0 is the one who does,
 * and leaves in another sequence where that was. What deletes does not count: nearly always that is the cleaning of
 * what is old, at any time. Triggers cannot be made while a transaction holds a table, which is why they are made
 * beforehand.
 */
const MAKE_READY = `
  create schema idemproof_faults;
  create sequence idemproof_faults.moments increment -1 minvalue -1000000000 maxvalue 1000000000 start 0;
  create sequence idemproof_faults.place;
  create function idemproof_faults.fail_once() returns trigger security definer language plpgsql as $$
    declare
      moments bigint;
      is_commit boolean := tg_when = 'AFTER';
    begin
      select last_value into moments from idemproof_faults.moments;
      if moments <= 0 or is_commit and current_setting('idemproof_faults.commit', true) = 'counted' then
        return new;
      end if;
      if is_commit then
        perform set_config('idemproof_faults.commit', 'counted', true);
      end if;
      if nextval('idemproof_faults.moments') = 0 then
        perform setval('idemproof_faults.place',
          4 * tg_relid::bigint + case when is_commit then 0 when tg_op = 'INSERT' then 1 else 2 end);
        raise exception using errcode = tg_argv[0], message = tg_argv[1];
      end if;
      return new;
    end $$;
  grant usage on schema idemproof_faults to public`;

/** Whoever holds a table holds it for no longer than this, or the fault cannot be injected, or healed. */
const LOCK_MS = 5_000;

const TRIGGERS = "idemproof_fails_at_write, idemproof_fails_at_commit".split(", ");

async function readyToFail(url: string, { sqlState, message }: DatabaseError): Promise<Cure> {
  const tables = await withSession(url, async (session) => {
    await session.query(MAKE_READY);
    const names = await tablesOf(session);
    const how = `for each row execute function idemproof_faults.fail_once('${sqlState}', '${message}')`;
    // A table at a time, so that no lock is waited for while another one is held.
    for (const table of names) {
      await changeTriggers(session, `create trigger ${TRIGGERS[0]} before insert or update on ${table} ${how}`);
      await changeTriggers(
        session,
        `create constraint trigger ${TRIGGERS[1]} after insert or update on ${table} deferrable initially deferred ${how}`,
      );
    }
    return names;
  });
  return () =>
    withSession(url, async (session) => {
      for (const table of tables) {
        for (const trigger of TRIGGERS) await changeTriggers(session, `drop trigger if exists ${trigger} on ${table}`);
      }
      await changeTriggers(session, "drop schema idemproof_faults cascade");
    });
}

/**
 * Changes a table's triggers. A transaction that the target forgot to end would be waited for as long as the target
 * runs; and where a partition comes or goes at this moment PostgreSQL loses its way among their triggers.
 */
async function changeTriggers(session: pg.Client, statement: string): Promise<void> {
  await session.query(`set lock_timeout = ${LOCK_MS}`);
  for (let tries = 1; ; tries += 1) {
    try {
      await session.query(statement);
      return;
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      if (code === UNDEFINED_TABLE) return;
      if (code === LOCK_NOT_AVAILABLE) throw heldTooLong(error);
      if ((code !== INTERNAL_ERROR && code !== DEADLOCK) || tries === TRIES_MAX) throw error;
      await sleep(BETWEEN_LOOKS_MS);
    }
  }
}

const LOCK_NOT_AVAILABLE = "55P03";
/** With whoever makes or drops a partition. */
const DEADLOCK = "40P01";
/** It is gone, and its triggers with it. */
const UNDEFINED_TABLE = "42P01";
/** "could not find tuple for trigger", "tuple concurrently updated". The statement has changed nothing. */
const INTERNAL_ERROR = "XX000";
/** Partitions come and go seldom. */
const TRIES_MAX = 50;

function heldTooLong(cause: unknown): Failure {
  const message = `a transaction of the target has held a table for ${LOCK_MS} ms, while no request was at work; it was not ended`;
  return new Failure("target-lost", message, { cause });
}

/** What is written a moment after the answer is waited for. */
const AFTER_ANSWER_MS = 150;
const DISARM = `
  with at as (select last_value as moments from idemproof_faults.moments)
  select moments <= 0 as struck, setval('idemproof_faults.moments', 0) from at`;
const PLACE = `
  select case last_value % 4 when 0 then 'a commit, after a write to ' when 1 then 'an insert into ' else 'an update of ' end
    || coalesce((last_value / 4)::oid::regclass::text, 'a table') as place
  from idemproof_faults.place`;

async function failOnce(url: string, moment = 1): Promise<() => Promise<string | false>> {
  await withSession(url, (session) => session.query("select setval('idemproof_faults.moments', $1)", [moment]));
  return () =>
    withSession(url, async (session) => {
      await strikesBefore(session, performance.now() + AFTER_ANSWER_MS);
      const { rows } = await session.query<{ struck: boolean }>(DISARM);
      if (!rows[0]?.struck) return false;
      const found = await session.query<{ place: string }>(PLACE);
      return found.rows[0]?.place ?? "a write";
    });
}

async function strikesBefore(session: pg.Client, end: number): Promise<void> {
  while (performance.now() < end) {
    const { rows } = await session.query("select from idemproof_faults.moments where last_value <= 0");
    if (rows.length > 0) return;
    await sleep(BETWEEN_LOOKS_MS);
  }
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

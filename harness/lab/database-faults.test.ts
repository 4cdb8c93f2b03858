import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DatabaseError, DatabasePowers } from "../fault.ts";
import { databasePowers } from "./database-faults.ts";
import { Keeper } from "./keeper.ts";
import { startPostgres } from "./postgres.ts";

const CONFLICT: DatabaseError = { sqlState: "40001", message: "could not serialize access" };
const errors: [string, DatabaseError][] = [
  ["a serialization failure", CONFLICT],
  ["a deadlock", { sqlState: "40P01", message: "deadlock detected" }],
  ["a timeout", { sqlState: "57014", message: "canceling statement due to statement timeout" }],
];

let folder = "";
let keeper: Keeper;
/** The target's own. */
let pool: pg.Pool;
let powers: DatabasePowers;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-database-faults-"));
  keeper = new Keeper();
  const postgres = await startPostgres(keeper, folder);
  powers = databasePowers(postgres);
  pool = new pg.Pool({ connectionString: postgres.url, max: 20 });
  await pool.query(`
    create table "Orders" (name text);
    create table keys (name text) partition by list (name);
    create table keys_default partition of keys default`);
});
afterAll(async () => {
  await pool.end();
  await keeper[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const write = (name: string, table = '"Orders"') => pool.query(`insert into ${table} values ($1)`, [name]);

async function namesIn(table: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(`select name from ${table} order by name`);
  return rows.map(({ name }) => name);
}

async function leftBehind(): Promise<unknown[]> {
  const { rows } = await pool.query(`
    select tgname as left from pg_trigger where tgname like 'idemproof%'
    union all select nspname from pg_namespace where nspname like 'idemproof%'`);
  return rows;
}

test.each(errors)("%s strikes the next write, once, and what it was part of did not happen", async (_, error) => {
  await pool.query('truncate "Orders"');
  const takeBack = await powers.readyToFail(error);
  await write("before");
  const heal = await powers.failOnce();
  await expect(write("struck")).rejects.toMatchObject({ code: error.sqlState, message: error.message });
  await write("after");
  expect(await heal()).toMatch(/^(an insert|a commit)/);
  await takeBack();
  expect(await namesIn('"Orders"')).toEqual(["after", "before"]);
});

test("a transaction that has written everything fails at its commit", async () => {
  await pool.query('truncate "Orders"');
  const takeBack = await powers.readyToFail(CONFLICT);
  const client = await pool.connect();
  await client.query("begin isolation level repeatable read");
  await client.query(`insert into "Orders" values ('written')`);
  const heal = await powers.failOnce();
  await expect(client.query("commit")).rejects.toMatchObject({ code: CONFLICT.sqlState });
  client.release();
  expect(await heal()).toMatch(/^(an insert|a commit)/);
  await takeBack();
  expect(await namesIn('"Orders"')).toEqual([]);
});

test("of many writers at once, to tables and to partitions, one fails", async () => {
  await pool.query('truncate "Orders", keys');
  const takeBack = await powers.readyToFail(CONFLICT);
  const heal = await powers.failOnce();
  const writers = Array.from({ length: 20 }, (_, number) => write(`${number}`, number % 2 ? "keys" : '"Orders"'));
  const settled = await Promise.allSettled(writers);
  expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(1);
  expect(await heal()).toMatch(/^(an insert|a commit)/);
  await takeBack();
  expect([...(await namesIn("keys")), ...(await namesIn('"Orders"'))]).toHaveLength(19);
});

test("an error that struck nobody says so, strikes nobody later, and leaves nothing behind", async () => {
  const takeBack = await powers.readyToFail(CONFLICT);
  const heal = await powers.failOnce();
  await pool.query('select from "Orders"');
  expect(await heal()).toBe(false);
  await write("later");
  await takeBack();
  await write("much later");
  expect(await leftBehind()).toEqual([]);
});

/** An operation as targets are: a claim that commits, then the effect and the record in one transaction. */
async function operate(name: string): Promise<void> {
  await pool.query("insert into keys values ($1)", [name]);
  const client = await pool.connect();
  try {
    await client.query("begin");
    await client.query(`insert into "Orders" values ($1), ($2)`, [`${name} a`, `${name} b`]);
    await client.query(`update keys set name = $2 where name = $1`, [name, `${name} done`]);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

const MOMENTS = [
  [1, "an insert into keys_default", []],
  [2, "a commit, after a write to keys_default", []],
  [3, 'an insert into "Orders"', ["of"]],
  [4, 'an insert into "Orders"', ["of"]],
  [5, "an update of keys_default", ["of"]],
  [6, 'a commit, after a write to "Orders"', ["of"]],
] as const;

test.each(MOMENTS)(
  "moment %d of an operation is %s, and none of that transaction happened",
  async (moment, place, keys) => {
    await pool.query('truncate "Orders", keys');
    const takeBack = await powers.readyToFail(CONFLICT);
    const heal = await powers.failOnce(moment);
    await expect(operate("of")).rejects.toMatchObject({ code: CONFLICT.sqlState });
    expect(await heal()).toBe(place);
    expect([await namesIn("keys"), await namesIn('"Orders"')]).toEqual([keys, []]);
    await pool.query("truncate keys");
    await operate("of");
    await takeBack();
    expect([await namesIn("keys"), await namesIn('"Orders"')]).toEqual([["of done"], ["of a", "of b"]]);
    expect(await leftBehind()).toEqual([]);
  },
);

test("an operation has no more moments than that, and what is deleted is none", async () => {
  await pool.query('truncate "Orders", keys');
  const takeBack = await powers.readyToFail(CONFLICT);
  const heal = await powers.failOnce(MOMENTS.length + 1);
  await operate("of");
  await pool.query("delete from keys");
  expect(await heal()).toBe(false);
  await takeBack();
});

test("what is written a moment after the answer is struck too", async () => {
  const takeBack = await powers.readyToFail(CONFLICT);
  const heal = await powers.failOnce();
  const healed = heal();
  await new Promise((resolve) => setTimeout(resolve, 20));
  await expect(write("late")).rejects.toMatchObject({ code: CONFLICT.sqlState });
  expect(await healed).toBe('an insert into "Orders"');
  await takeBack();
});

test("partitions come and go while triggers are put up and taken down", { timeout: 60_000 }, async () => {
  let isOver = false;
  const comeAndGo = async (name: string): Promise<void> => {
    while (!isOver) {
      await pool.query(`
        create table if not exists ${name} (like keys);
        alter table keys attach partition ${name} for values in ('${name}')`);
      await pool.query(`drop table ${name}`);
    }
  };
  /** Of two that wait for each other PostgreSQL gives up either. */
  const stubborn = (name: string): Promise<void> =>
    comeAndGo(name).catch(async (error: { code?: unknown }) => {
      if (error.code !== "40P01") throw error;
      await pool.query(`drop table if exists ${name}`);
      return stubborn(name);
    });
  const partitions = Promise.all(["one", "other", "third"].map(stubborn));
  try {
    for (let round = 0; round < 10; round += 1) {
      const takeBack = await powers.readyToFail(CONFLICT);
      await takeBack();
    }
  } finally {
    isOver = true;
    await partitions;
  }
  expect(await leftBehind()).toEqual([]);
});

test("a transaction that is never ended is not waited for", { timeout: 20_000 }, async () => {
  const takeBack = await powers.readyToFail(CONFLICT);
  const client = await pool.connect();
  await client.query("begin");
  await client.query(`insert into "Orders" values ('forgotten')`);
  await expect(takeBack()).rejects.toMatchObject({ code: "target-lost" });
  await client.query("rollback");
  client.release();
  await takeBack();
  expect(await leftBehind()).toEqual([]);
});

test("while the tables are locked whoever uses one waits, and goes on afterwards", async () => {
  const heal = await powers.lockTables();
  let isDone = false;
  const waiting = write("waited").then(() => {
    isDone = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(isDone).toBe(false);
  expect(await heal()).toBe(true);
  await waiting;
  expect(await namesIn('"Orders"')).toContain("waited");
});

test("a lock that nobody came to says so", async () => {
  const heal = await powers.lockTables();
  await pool.query("select 1");
  expect(await heal()).toBe(false);
  await write("free");
});

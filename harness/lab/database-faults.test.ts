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

test.each(errors)("%s strikes the next write, once, and what it was part of did not happen", async (_, error) => {
  await pool.query('truncate "Orders"');
  const takeBack = await powers.readyToFail(error);
  await write("before");
  const heal = await powers.failOnce();
  await expect(write("struck")).rejects.toMatchObject({ code: error.sqlState, message: error.message });
  await write("after");
  expect(await heal()).toBe(true);
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
  expect(await heal()).toBe(true);
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
  expect(await heal()).toBe(true);
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
  const { rows } = await pool.query(`
    select tgname as left from pg_trigger where tgname like 'idemproof%'
    union all select nspname from pg_namespace where nspname like 'idemproof%'`);
  expect(rows).toEqual([]);
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

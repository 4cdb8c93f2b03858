import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MIGRATIONS, migrate } from "./migrate.ts";
import { openPool } from "./pool.ts";
import { Database } from "./testing/database.ts";

let database: Database;
beforeAll(async () => {
  database = await Database.start();
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

test("four replicas that start together on an empty database apply every migration once", async () => {
  const url = await database.empty();
  // A lease shorter than any migration: it must not end the session that migrates.
  const pools = Array.from({ length: 4 }, () => openPool({ databaseUrl: url, poolSize: 1, leaseMs: 1 }));
  await Promise.all(pools.map((pool) => migrate(pool, MIGRATIONS)));
  const names = (await readdir(MIGRATIONS)).sort();
  const books = new pg.Pool({ connectionString: url });
  const applied = async () => (await books.query("select name from migrations order by name")).rows;
  expect(names.length).toBeGreaterThan(0);
  expect(await applied()).toEqual(names.map((name) => ({ name })));
  await Promise.all(pools.map((pool) => migrate(pool, MIGRATIONS)));
  expect(await applied()).toEqual(names.map((name) => ({ name })));
  await Promise.all([...pools, books].map((pool) => pool.end()));
});

test("a migration that fails names its own error, and leaves nothing of what came before it", async () => {
  const pool = new pg.Pool({ connectionString: await database.empty() });
  const directory = await mkdtemp(join(tmpdir(), "migrations-"));
  await writeFile(join(directory, "001_good.sql"), "create table good ()");
  await writeFile(join(directory, "002_bad.sql"), "create table bad (no such thing)");
  await expect(migrate(pool, directory)).rejects.toThrow(/type "such" does not exist|syntax error/);
  const { rows } = await pool.query("select to_regclass('good') as good, to_regclass('migrations') as migrations");
  expect(rows).toEqual([{ good: null, migrations: null }]);
  await rm(directory, { recursive: true });
  await pool.end();
});

test("a connection that is lost in mid-migration fails the start with that error", async () => {
  const pool = openPool({ databaseUrl: await database.empty(), poolSize: 1, leaseMs: 1_000 });
  const directory = await mkdtemp(join(tmpdir(), "migrations-"));
  await writeFile(join(directory, "001_suicide.sql"), "select pg_terminate_backend(pg_backend_pid())");
  await expect(migrate(pool, directory)).rejects.toMatchObject({ code: "57P01" });
  await rm(directory, { recursive: true });
  await pool.end();
});

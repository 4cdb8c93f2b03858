import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { idemproof, killedRun } from "../testing/command.ts";
import { Keeper } from "./keeper.ts";
import { freePort } from "./port.ts";
import { startPostgres } from "./postgres.ts";

/** So long after the death of its harness nothing of a run may be left. */
const GONE_WITHIN_MS = 5_000;

let folder = "";
let logs = "";
let keeper: Keeper;
/** A server that is there, with a user who may create databases and has a password. */
let server = "";
let admin: pg.Client;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-postgres-url-"));
  keeper = new Keeper();
  const { url } = await startPostgres(keeper, folder);
  admin = new pg.Client({ connectionString: url });
  // The server is ended before its client.
  admin.on("error", () => undefined);
  await admin.connect();
  await admin.query("create role owner login createdb password 'very-secret-word'");
  await admin.query("create role guest login");
  server = url.replace("postgres@", "owner:very-secret-word@").replace(/idemproof$/, "");
});
beforeEach(async () => {
  logs = await mkdtemp(join(folder, "logs-"));
});
afterAll(async () => {
  await admin.end();
  await keeper[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function databases(): Promise<readonly string[]> {
  const { rows } = await admin.query<{ datname: string }>(
    "select datname from pg_database where datname ~ '^idemproof_'",
  );
  return rows.map(({ datname }) => datname);
}

function onServer(url: string, of: Keeper): Promise<{ readonly url: string }> {
  const signal = new AbortController().signal;
  return startPostgres(of, logs, { secrets: [], signal, database: { kind: "url", url } });
}

test("each run has a database of its own, and it is dropped even while sessions are on it", async () => {
  const keepers = [new Keeper(), new Keeper()];
  const urls = await Promise.all(keepers.map(async (one) => (await onServer(server, one)).url));
  expect(new Set(urls).size).toBe(2);
  expect((await databases()).map((name) => urls.some((url) => url.endsWith(`/${name}`)))).toEqual([true, true]);
  const session = new pg.Client({ connectionString: urls[0] });
  session.on("error", () => undefined);
  await session.connect();
  await Promise.all(keepers.map((one) => one[Symbol.asyncDispose]()));
  expect(await databases()).toEqual([]);
  await session.end().catch(() => undefined);
});

test("only the run's own server may be killed", async () => {
  await using one = new Keeper();
  expect(await onServer(server, one)).toMatchObject({ mayBeKilled: false });
  expect(await startPostgres(one, logs)).toMatchObject({ mayBeKilled: true });
});

test("the rest of the URL is kept", async () => {
  await using one = new Keeper();
  const { url } = await onServer(`${server}postgres?options=-c%20statement_timeout%3D7s`, one);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  expect((await client.query("show statement_timeout")).rows).toEqual([{ statement_timeout: "7s" }]);
  await client.end();
});

test("a run on it passes, repeats with it, and tells nobody its password", async () => {
  const args = ["run", "--database", server, "--quick", "--only", "missing-key", "--report-dir", logs];
  const { code, stdout, stderr } = await idemproof(args);
  expect(stderr).not.toContain("left behind");
  expect(code).toBe(0);
  expect(await databases()).toEqual([]);
  const written = await Promise.all(
    ["history.ndjson", "report.json"].map((name) => readFile(join(logs, name), "utf8")),
  );
  expect([stdout, stderr, ...written].join()).not.toContain("very-secret-word");
  expect(written[0]).toContain("--database 'postgres://owner:…@127.0.0.1:");
});

test.each([0, 30, 100, 300, 1000])("a harness that is killed leaves no database: + %i ms", async (ms) => {
  const args = ["run", "--database", server, "--quick", "--only", "duplicates-at-once", "--report-dir", logs];
  await killedRun(args, { words: "starting PostgreSQL", ms });
  const end = performance.now() + GONE_WITHIN_MS;
  while ((await databases()).length > 0 && performance.now() < end) await sleep(50);
  expect(await databases()).toEqual([]);
});

test("a database that cannot be dropped is named, with what to do", async () => {
  const one = new Keeper();
  const { url } = await onServer(server, one);
  const name = new URL(url).pathname.slice(1);
  await admin.query(`alter database ${name} owner to postgres`);
  await one[Symbol.asyncDispose]();
  const told = await readFile(join(logs, "left-behind.log"), "utf8");
  expect(told).toMatch(
    /^the database idemproof_\w+ at 127\.0\.0\.1:\d+; there, run: drop database if exists idemproof_\w+ with \(force\) \(must be owner of database/,
  );
  await admin.query(`drop database ${name}`);
});

test.each<[string, () => Promise<string> | string, RegExp]>([
  ["nobody listens", async () => `postgres://127.0.0.1:${await freePort()}`, /127\.0\.0\.1:\d+ \(connect ECONNREFUSED/],
  ["the host is none", () => "postgres://no-such-host.invalid", /no-such-host\.invalid:5432 \(getaddrinfo/],
  ["the user may not", () => server.replace(/owner:[^@]+@/, "guest@"), /permission denied to create database/],
  [
    "the user is none",
    () => server.replace(/owner:[^@]+@/, "nobody:very-secret-word@"),
    /role "nobody" does not exist/,
  ],
])("exit code 2 and plain words where %s", async (_, place, words) => {
  const { code, stderr } = await idemproof([
    "run",
    "--database",
    await place(),
    "--report-dir",
    join(logs, randomUUID()),
  ]);
  expect(stderr).toMatch(words);
  expect(stderr).toContain("expected a server on which this user may create a database");
  expect(stderr).not.toMatch(/very-secret-word|left behind|^\s+at /m);
  expect(code).toBe(2);
});

test.each(["nonsense", "mysql://127.0.0.1", "http://127.0.0.1:5432"])(
  "--database %s is a usage error",
  async (given) => {
    const { code, stderr } = await idemproof(["run", "--database", given]);
    expect(stderr).toContain("Expected embedded, container, or a URL such as postgres://user@127.0.0.1:5432");
    expect(code).toBe(2);
  },
);

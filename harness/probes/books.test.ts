import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTcpServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Keeper } from "../lab/keeper.ts";
import { freePort } from "../lab/port.ts";
import { startPostgres } from "../lab/postgres.ts";
import type { BooksSource, TargetFile } from "../target.ts";
import { BooksProbe } from "./books.ts";

let folder = "";
let url = "";
let keeper: Keeper;
const servers: Server[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-books-"));
  keeper = new Keeper();
  ({ url } = await startPostgres(keeper, folder));
  await query(`
    create table ledger (id bigint generated always as identity, reference text, amount numeric, at timestamptz, raw bytea, extra jsonb);
    insert into ledger (reference, amount, at, raw, extra) values
      ('ours-1', 19.90, '2026-12-01T00:00:00Z', '\\xdead', '{"a":[1]}'),
      ('ours-2', null, 'infinity', null, null), ('theirs-1', 5, null, null, null), (null, 7, null, null, null);
    create table keys (key text, state text);
    insert into keys values ('our-key', 'completed'), ('their-key', 'completed');
    create table moving (n bigint);
    insert into moving values (0)`);
});
afterAll(async () => {
  for (const server of servers) server.close();
  await keeper[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function query(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}

function probe(
  file: Partial<Pick<TargetFile, "effects" | "records">>,
  { urls = [], signal = new AbortController().signal }: { urls?: readonly URL[]; signal?: AbortSignal } = {},
): BooksProbe {
  return new BooksProbe({
    file: file as Pick<TargetFile, "effects" | "records">,
    urls,
    postgres: url,
    secrets: ["alice-token"],
    signal,
    isOurs: (reference) => reference.startsWith("ours-"),
    isOurKey: (key) => key === "our-key",
  });
}

function sql(text: string, on = "postgres"): BooksSource {
  return { sql: text, on };
}

async function listen(handler: RequestListener): Promise<URL> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return new URL(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`);
}

/** A server that takes connections and says nothing. */
async function silence(): Promise<number> {
  const server = createTcpServer((socket) => socket.on("error", () => undefined));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

const LEDGER: BooksSource = {
  http: "GET /ledger",
  rows: "/rows",
  columns: { operation: "/ref", amount: "/amount/value" },
};

describe.concurrent("books in SQL", () => {
  test("only our rows are kept, values as texts, whatever their type", async () => {
    const effects = sql("select reference as operation, amount, at, raw, extra from ledger order by id; -- all of it");
    expect(await probe({ effects }).read()).toEqual({
      effects: [
        {
          operation: "ours-1",
          columns: { amount: "19.90", at: "2026-12-01T00:00:00.000Z", raw: "\\xdead", extra: '{"a":[1]}' },
        },
        { operation: "ours-2", columns: { amount: "", at: "Infinity", raw: "", extra: "" } },
      ],
      records: null,
      quiet: false,
      failure: null,
    });
  });

  test("key records beside effects, ours only", async () => {
    const books = await probe({
      effects: sql("select reference as operation from ledger"),
      records: { ...sql("select * from keys"), completed: [] },
    } as never).read();
    expect(books.records).toEqual([{ key: "our-key", state: "completed" }]);
    expect(books.effects).toHaveLength(2);
  });

  test("a secret in a column is not kept", async () => {
    const { effects } = await probe({ effects: sql("select 'ours-1' as operation, 'by alice-token' as who") }).read();
    expect(effects).toEqual([{ operation: "ours-1", columns: { who: "by [redacted]" } }]);
  });

  test("books that stand still are quiet, in whatever order they come", async () => {
    const effects = sql("select 'ours-' || n as operation from generate_series(1, 50) n order by random()");
    expect(await probe({ effects }).readWhenQuiet(5_000)).toMatchObject({ quiet: true, failure: null });
  });

  test("books that never stand still are not quiet, and are not waited for longer", async () => {
    const effects = sql("select 'ours-1' as operation, clock_timestamp() as at");
    const began = performance.now();
    expect(await probe({ effects }).readWhenQuiet(1_500)).toMatchObject({ quiet: false, failure: null });
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  test.each([
    [
      "a missing column",
      "select reference from ledger",
      "effects: found the columns reference, expected operation among them",
    ],
    [
      "a missing column of no rows",
      "select id from ledger where false",
      "effects: found the columns id, expected operation among them",
    ],
    ["a missing table", "select * from nowhere", 'effects: relation "nowhere" does not exist'],
    ["a syntax error", "selekt 1", 'effects: syntax error at or near "selekt"'],
    [
      "a statement that writes",
      "with gone as (delete from moving returning n) select n as operation from gone",
      "effects: DECLARE CURSOR must not contain data-modifying statements in WITH",
    ],
    [
      "two statements",
      "select 1 as operation; select 2",
      "effects: cannot insert multiple commands into a prepared statement",
    ],
    ["no query", "truncate moving", 'effects: syntax error at or near "truncate"'],
    [
      "too many rows",
      "select n as operation from generate_series(1, 1000000) n",
      "effects: found more than 200000 rows",
    ],
    [
      "too much text",
      "select repeat('x', 1000000) as operation from generate_series(1, 1000) n",
      "effects: found more than 200000 rows or 67108864 characters",
    ],
  ])("%s is told in words", async (_, text, words) => {
    const { effects, failure } = await probe({ effects: sql(text) }).read();
    expect(effects).toBeNull();
    expect(failure).toContain(words);
  });

  test("a query that takes too long is given up", async () => {
    const { failure } = await probe({ effects: sql("select pg_sleep(60)::text as operation") }).read(700);
    expect(failure).toContain("effects: canceling statement due to statement timeout");
  });

  test("a database that cannot be reached is told, without its password", async () => {
    const on = `postgres://user:alice-token@127.0.0.1:${await freePort()}/db`;
    const { failure } = await probe({ effects: sql("select 1", on) }).read();
    expect(failure).toMatch(/^effects: connect ECONNREFUSED 127\.0\.0\.1:\d+$/);
  });

  test("a database that does not answer is given up", async () => {
    const began = performance.now();
    const { failure } = await probe({ effects: sql("select 1", `postgres://u@127.0.0.1:${await silence()}/db`) }).read(
      600,
    );
    expect(failure).toContain("effects: timeout");
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  test("books that cannot be read are not waited for to the end", async () => {
    const began = performance.now();
    const books = await probe({ effects: sql("select * from nowhere") }).readWhenQuiet(60_000);
    expect(books).toMatchObject({ quiet: false, effects: null, failure: expect.stringContaining("nowhere") });
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  test.each(["a query that runs", "a database that does not answer"])(
    "a run that is to stop does not wait for %s",
    async (what) => {
      const stop = new AbortController();
      const on = what === "a query that runs" ? "postgres" : `postgres://u@127.0.0.1:${await silence()}/db`;
      const reading = probe(
        { effects: sql("select pg_sleep(60)::text as operation", on) },
        { signal: stop.signal },
      ).read();
      setTimeout(() => stop.abort(), 300);
      const began = performance.now();
      await expect(reading).rejects.toThrow("abort");
      expect(performance.now() - began).toBeLessThan(5_000);
    },
  );
});

describe.concurrent("books over HTTP", () => {
  test("rows and columns are found by their pointers, ours only", async () => {
    const rows = [
      { ref: "ours-1", amount: { value: 5 } },
      { ref: "theirs" },
      { ref: null },
      {},
      "no row",
      { ref: "ours-2" },
    ];
    const base = await listen((request, response) => response.end(JSON.stringify({ rows, path: request.url })));
    expect((await probe({ effects: LEDGER }, { urls: [base] }).read()).effects).toEqual([
      { operation: "ours-1", columns: { amount: "5" } },
      { operation: "ours-2", columns: { amount: "" } },
    ]);
  });

  test("another replica is asked when the first one does not answer", async () => {
    const stuck = new URL(`http://127.0.0.1:${await silence()}`);
    const base = await listen((_, response) => response.end('{"rows":[{"ref":"ours-1"}]}'));
    const { effects, failure } = await probe({ effects: LEDGER }, { urls: [stuck, base] }).read(1_500);
    expect(failure).toBeNull();
    expect(effects).toHaveLength(1);
  });

  test.each<[string, RequestListener, string]>([
    [
      "a 404",
      (_, response) => response.writeHead(404).end("no such page"),
      "effects: GET /ledger answered 404 with no such page, expected 200",
    ],
    ["a page", (_, response) => response.end("<html>"), "effects: GET /ledger answered <html>, expected JSON"],
    ["nothing", (_, response) => response.end(), "effects: GET /ledger answered an empty body, expected JSON"],
    [
      "rows elsewhere",
      (_, response) => response.end('{"data":[]}'),
      "effects: GET /ledger: found no list at /rows, expected the rows there",
    ],
    [
      "columns elsewhere",
      (_, response) => response.end('{"rows":[{"reference":"ours-1"}]}'),
      "effects: found no operation in any of 1 row(s)",
    ],
    [
      "a broken connection",
      (request) => request.socket.destroy(),
      "effects: GET /ledger got a connection that was closed before the answer",
    ],
    [
      "half an answer",
      (_, response) => void response.writeHead(200, { "content-length": 99 }).write("{", () => response.destroy()),
      "effects: GET /ledger got an answer that broke off",
    ],
    [
      "no end",
      (_, response) => void setInterval(() => response.write("x"), 50).unref(),
      "effects: GET /ledger got no answer within 700 ms",
    ],
  ])("%s is told in words", async (_, handler, words) => {
    const { failure } = await probe({ effects: LEDGER }, { urls: [await listen(handler)] }).read(700);
    expect(failure).toBe(words);
  });

  test("books beyond all measure are not read to their end", async () => {
    const piece = Buffer.alloc(1024 * 1024, "x");
    const base = await listen((_, response) => {
      const pour = (): void => void response.write(piece, (error) => !error && !response.destroyed && pour());
      pour();
    });
    const { failure } = await probe({ effects: LEDGER }, { urls: [base] }).read(20_000);
    // A slow machine has not read so much when the time is over.
    expect(failure).toMatch(
      /^effects: GET \/ledger got (an answer too large to be read to its end|no answer within 5000 ms)$/,
    );
  });

  test("a secret in a failure is not told", async () => {
    const base = await listen((_, response) => response.writeHead(401).end("alice-token is unknown"));
    const { failure } = await probe({ effects: LEDGER }, { urls: [base] }).read();
    expect(failure).toContain("answered 401 with [redacted] is unknown");
  });
});

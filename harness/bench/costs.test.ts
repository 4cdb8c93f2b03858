import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Keeper } from "../lab/keeper.ts";
import { startPostgres } from "../lab/postgres.ts";
import { CostMeter, callsBetween, isDurable, ownStatements } from "./costs.ts";

let logs = "";
let keeper: Keeper;
let url = "";
let client: pg.Client;
beforeAll(async () => {
  logs = await mkdtemp(join(tmpdir(), "idemproof-costs-"));
  keeper = new Keeper();
  ({ url } = await startPostgres(keeper, logs, { secrets: [], signal: new AbortController().signal, isBench: true }));
  client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("create table orders (id int primary key, note text)");
});
afterAll(async () => {
  await client.end();
  await keeper[Symbol.asyncDispose]();
  await rm(logs, { recursive: true, force: true });
});

async function meterOf(): Promise<CostMeter> {
  const meter = await CostMeter.open(url);
  if (typeof meter === "string") throw new Error(meter);
  return meter;
}

test("a request's statements, commits and bytes are counted exactly, whatever runs in the background", async () => {
  await using meter = await meterOf();
  let id = 0;
  const background = new pg.Client({ connectionString: url });
  await background.connect();
  let isOver = false;
  const beside = (async () => {
    while (!isOver) {
      await background.query("delete from orders where id < 0");
      await sleep(25);
    }
  })();
  const insert = await meter.measure(10, async () => {
    id += 1;
    await client.query("begin");
    await client.query("insert into orders values ($1, $2)", [id, "x".repeat(100)]);
    await client.query("update orders set note = $2 where id = $1", [id, "y".repeat(100)]);
    await client.query("commit");
  });
  const read = await meter.measure(10, async () => void (await client.query("select from orders where id = $1", [id])));
  isOver = true;
  await beside;
  await background.end();
  expect(insert).toMatchObject({ statements: 4, commits: 1, "dead-rows": 1 });
  expect(insert["wal-bytes"]).toBeGreaterThan(200);
  expect(insert["row-bytes"]).toBeGreaterThan(100);
  expect(insert["row-bytes"]).toBeLessThan(200);
  expect(insert["index-bytes"]).toBeGreaterThan(8);
  expect(read).toMatchObject({ statements: 1, commits: 0, "wal-bytes": 0, "row-bytes": 0, "dead-rows": 0 });
});

test("the database of a bench keeps what it commits", async () => {
  expect(await isDurable(url)).toBe(true);
});

test("a statement counts as often as in the request that has the fewest of it", () => {
  expect(
    ownStatements([
      { a: 1, b: 2 },
      { a: 1, b: 2, clean: 3 },
      { a: 2, b: 2 },
    ]),
  ).toBe(3);
  expect(ownStatements([])).toBe(0);
  expect(callsBetween({ a: 1, b: 5 }, { a: 3, b: 5, c: 1 })).toEqual({ a: 2, c: 1 });
});

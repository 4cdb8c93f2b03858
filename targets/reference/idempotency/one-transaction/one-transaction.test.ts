import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { PoolClient } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Phase } from "../../failpoints.ts";
import { openPool } from "../../pool.ts";
import { Database } from "../../testing/database.ts";
import { TestFailpoints } from "../../testing/failpoints.ts";
import { Gate } from "../../testing/gate.ts";
import { Processor } from "../../testing/processor.ts";
import { orderNamed, promised, Service, type ServiceOptions } from "../../testing/service.ts";
import { type Cost, StatementCounter } from "../../testing/statements.ts";
import { ClaimLost, complete, inTransaction } from "../complete.ts";
import type { Claim } from "../record.ts";
import { lockOf } from "./look.ts";
import { oneTransactionSteps } from "./steps.ts";

const way = "one-transaction";

let database: Database;
let one: Service;
/** The same table, in the other way. */
let leasing: Service;
beforeAll(async () => {
  database = await Database.start();
  one = await Service.open(database.url, { way });
  leasing = await Service.open(database.url);
});
afterAll(async () => {
  await one[Symbol.asyncDispose]();
  await leasing[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

async function effectsOf(reference: string): Promise<number> {
  const { rows } = await database.pool.query("select from ledger where reference = $1", [reference]);
  return rows.length;
}

async function recordsOf(key: string): Promise<object[]> {
  const { rows } = await database.pool.query("select * from idempotency_keys where key = $1", [key]);
  return rows;
}

const order = (key: string, changes: object = {}) => ({ key, body: orderNamed(key, changes) });

/** A replica whose completions wait before their effect. */
function held(gate: Gate, options: ServiceOptions = {}): Promise<Service> {
  const steps = options.way === way ? oneTransactionSteps : { complete };
  const waiting: typeof complete = async (...given) => {
    await gate.pass();
    return steps.complete(...given);
  };
  return Service.open(database.url, { ...options, gate, steps: { complete: waiting } });
}

describe("what a key costs", () => {
  const BASELINE: Cost = { statements: ["BEGIN", "INSERT", "COMMIT"], commits: 1 };
  const REPLAY: Cost = { statements: ["SELECT"], commits: 0 };

  test("without one: a transaction around the effect", async () => {
    const pool = openPool({ databaseUrl: database.url, poolSize: 1, leaseMs: 60_000 });
    const counter = new StatementCounter(pool, database.pool);
    const effect = (client: PoolClient) =>
      client.query(
        "insert into ledger (kind, caller, reference, amount, currency, item) values ('order', 'a', 'b', 1, 'usd', 'c')",
      );
    expect(await counter.costOf(() => inTransaction(pool, effect))).toEqual(BASELINE);
    await pool.end();
  });

  test.each<{
    readonly options: ServiceOptions;
    readonly first: Cost;
    readonly extra: [statements: number, commits: number];
  }>([
    {
      options: { way },
      first: { statements: ["SELECT", "BEGIN", "INSERT", "INSERT", "COMMIT"], commits: 1 },
      extra: [2, 0],
    },
    {
      options: { way: "two-transactions" },
      first: { statements: ["SELECT", "BEGIN", "INSERT", "UPDATE", "COMMIT"], commits: 2 },
      extra: [3, 1],
    },
  ])(
    "$options.way: a first use stays within its budget, a replay is one statement",
    async ({ options, first, extra }) => {
      await using service = await Service.open(database.url, options);
      const counter = new StatementCounter(service.pool, database.pool);
      const key = randomUUID();
      const used = await counter.costOf(async () => expect((await service.send(order(key))).status).toBe(201));
      expect(used).toEqual(first);
      expect(used.statements.length - BASELINE.statements.length).toBeLessThanOrEqual(extra[0]);
      expect(used.commits - BASELINE.commits).toBeLessThanOrEqual(extra[1]);
      expect(await counter.costOf(async () => expect((await service.send(order(key))).isReplay).toBe(true))).toEqual(
        REPLAY,
      );
      const other = order(key, { item: "pen" });
      expect(await counter.costOf(async () => expect((await service.send(other)).status).toBe(422))).toEqual(REPLAY);
    },
  );

  test("a conflict is one statement", async () => {
    const gate = new Gate();
    await using holder = await held(gate, { way });
    await using service = await Service.open(database.url, { way });
    const counter = new StatementCounter(service.pool, database.pool);
    const key = randomUUID();
    const first = holder.send(order(key));
    await gate.reached;
    expect(await counter.costOf(async () => expect((await service.send(order(key))).status).toBe(409))).toEqual(REPLAY);
    gate.open();
    expect((await first).status).toBe(201);
  });
});

test("a duplicate of what is in flight is told to come back soon, whatever it asks for, and the original goes on", async () => {
  const gate = new Gate();
  await using holder = await held(gate, { way });
  const key = randomUUID();
  const first = holder.send(order(key));
  await gate.reached;
  for (const duplicate of [order(key), order(key, { item: "pen" })]) {
    expect(await one.send(duplicate)).toMatchObject({ status: 409, isReplay: false, headers: { "retry-after": "1" } });
  }
  expect(await recordsOf(key)).toEqual([]);
  gate.open();
  const answered = await first;
  expect(answered).toMatchObject({ status: 201, isReplay: false });
  expect(promised(await one.send(order(key)))).toEqual(promised(answered));
  expect(await effectsOf(key)).toBe(1);
});

test("a failure before any effect leaves nothing: the key is new, for any request", async () => {
  const key = randomUUID();
  const failed = await one.send({ ...order(key), headers: { "lab-fail": "before-effect" } });
  expect(failed).toMatchObject({ status: 503, isReplay: false });
  expect(await recordsOf(key)).toEqual([]);
  expect(await one.send(order(key, { item: "pen" }))).toMatchObject({ status: 201, isReplay: false });
  expect((await one.send(order(key))).status).toBe(422);
  expect(one.pool.idleCount).toBe(one.pool.totalCount);
});

test("an attempt that finds another one's record when it writes its own has no effect, and replays", async () => {
  const gate = new Gate();
  await using late = await held(gate, { way });
  const key = randomUUID();
  const sent = late.send(order(key));
  await gate.reached;
  // The other way knows nothing of the lock, as an attempt that looked before the commit and locked after it.
  const first = await leasing.send(order(key));
  expect(first).toMatchObject({ status: 201, isReplay: false });
  gate.open();
  const answered = await sent;
  expect(answered.isReplay).toBe(true);
  expect(promised(answered)).toEqual(promised(first));
  expect(await effectsOf(key)).toBe(1);
});

test("a key of the other way is in flight for its lease, and then free; its old holder can finish nothing", async () => {
  const gate = new Gate();
  await using zombie = await held(gate);
  const key = randomUUID();
  const late = zombie.send(order(key));
  await gate.reached;
  const conflict = await one.send(order(key));
  expect(conflict.status).toBe(409);
  expect(Number(conflict.headers["retry-after"])).toBeGreaterThanOrEqual(59);
  await database.pool.query("update idempotency_keys set lease_expires_at = clock_timestamp() where key = $1", [key]);
  expect((await one.send(order(key, { item: "pen" }))).status).toBe(422);
  const taken = await one.send(order(key));
  expect(taken).toMatchObject({ status: 201, isReplay: false });
  gate.open();
  expect(promised(await late)).toEqual(promised(taken));
  expect(await effectsOf(key)).toBe(1);
  expect(await recordsOf(key)).toMatchObject([{ state: "completed" }]);
});

test("a key whose lock is another one's by chance has to wait, and is not disturbed once it is completed", async () => {
  const key = randomUUID();
  const scope = JSON.stringify(["alice", "POST", "/orders", ""]);
  const client = await database.pool.connect();
  await client.query("select pg_advisory_lock($1)", [String(lockOf({ scope, key }))]);
  expect(await one.send(order(key))).toMatchObject({ status: 409, headers: { "retry-after": "1" } });
  await client.query("select pg_advisory_unlock($1)", [String(lockOf({ scope, key }))]);
  const first = await one.send(order(key));
  expect(first.status).toBe(201);
  await client.query("select pg_advisory_lock($1)", [String(lockOf({ scope, key }))]);
  expect(promised(await one.send(order(key)))).toEqual(promised(first));
  await client.query("select pg_advisory_unlock_all()");
  client.release();
});

const IDENTITY = { scope: "test" };

describe("a holder that is too slow", () => {
  const LEASE_MS = 300;

  async function claimed(pool: Service["pool"], key: string): Promise<Claim> {
    const durations = { leaseMs: LEASE_MS, retentionMs: 60_000 };
    const result = await oneTransactionSteps.claim(pool, { ...IDENTITY, key }, "hash", durations);
    if (!result.won) throw new Error("nobody else claims this key");
    return result.claim;
  }

  test("loses its key also when it never stands still, and finishes nothing", async () => {
    const key = randomUUID();
    const claim = await claimed(one.pool, key);
    const busy = oneTransactionSteps.complete(one.pool, claim, async (transaction) => {
      for (let turn = 0; turn < 100; turn += 1) await transaction.query("select pg_sleep(0.02)");
      return { status: 201, headers: {}, body: "" };
    });
    await expect(busy).rejects.toBeInstanceOf(ClaimLost);
    await oneTransactionSteps.fail(one.pool, await claimed(one.pool, key), new Error() as never);
    expect(await recordsOf(key)).toEqual([]);
  });

  test("and never comes back keeps neither its key nor its place in the pool", async () => {
    const pool = openPool({ databaseUrl: database.url, poolSize: 1, leaseMs: LEASE_MS });
    const key = randomUUID();
    const lost = await claimed(pool, key);
    const next = await claimed(pool, key);
    await expect(
      oneTransactionSteps.complete(pool, lost, () => Promise.reject(new Error("too late"))),
    ).rejects.toBeInstanceOf(ClaimLost);
    await oneTransactionSteps.fail(pool, next, new Error() as never);
    await pool.end();
  });
});

test("the limit of one claim's transaction is not that of the next statement on its connection", async () => {
  await using service = await Service.open(database.url, { way, leaseMs: 200, poolSize: 1 });
  expect((await service.send(order(randomUUID()))).status).toBe(201);
  await sleep(250);
  expect((await service.pool.query("show transaction_timeout")).rows).toEqual([{ transaction_timeout: "0" }]);
});

test("a look that fails leaves its connection fit for use", async () => {
  const pool = openPool({ databaseUrl: await database.empty(), poolSize: 1, leaseMs: 60_000 });
  const durations = { leaseMs: 60_000, retentionMs: 60_000 };
  const claim = () => oneTransactionSteps.claim(pool, { ...IDENTITY, key: "key" }, "hash", durations);
  await expect(claim()).rejects.toThrow("idempotency_keys");
  await expect(claim()).rejects.toThrow("idempotency_keys");
  expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  expect(pool.totalCount).toBe(1);
  await pool.end();
});

describe("a failure at a phase boundary", () => {
  let failpoints: TestFailpoints;
  let service: Service;
  beforeAll(async () => {
    failpoints = await TestFailpoints.start();
    service = await Service.open(database.url, { way, failpointsUrl: failpoints.url, poolSize: 1 });
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await failpoints[Symbol.asyncDispose]();
  });
  const watched = (key: string) => ({ ...order(key), headers: { "lab-failpoints": "on" } });

  test("is asked for at each, in order", async () => {
    const key = randomUUID();
    await service.send(watched(key));
    await service.send(watched(key));
    expect(failpoints.passesOf(key)).toEqual([
      "before-claim",
      "claimed",
      "before-effect",
      "before-completion",
      "before-commit",
      "committed",
      "before-claim",
      "replaying",
    ]);
  });

  test.each<Phase>(["before-claim", "claimed", "before-effect", "before-completion", "before-commit"])(
    "before the commit leaves nothing: %s",
    async (phase) => {
      const key = randomUUID();
      failpoints.strike(key, phase, () => ({ do: "throw" }));
      expect((await service.send(watched(key))).status).toBe(500);
      expect(await effectsOf(key)).toBe(0);
      expect(await recordsOf(key)).toEqual([]);
      expect(await service.send(watched(key))).toMatchObject({ status: 201, isReplay: false });
      expect(await effectsOf(key)).toBe(1);
    },
  );

  test.each<Phase>(["committed", "replaying"])("after it, everything: %s", async (phase) => {
    const key = randomUUID();
    failpoints.strike(key, phase, () => ({ do: "throw" }));
    const statuses = [(await service.send(watched(key))).status, (await service.send(watched(key))).status];
    expect(statuses.sort()).toEqual([201, 500]);
    expect(await service.send(watched(key))).toMatchObject({ status: 201, isReplay: true });
    expect(await effectsOf(key)).toBe(1);
  });
});

test("a charge keeps its recovery points", async () => {
  await using processor = await Processor.start();
  await using service = await Service.open(database.url, { way, processorUrl: processor.url });
  const key = randomUUID();
  processor.tell(key, "reset-after");
  expect((await service.send({ ...order(key), path: "/charges" })).status).toBe(504);
  expect(await recordsOf(key)).toMatchObject([{ state: "in_progress", recovery_point: "intent-recorded" }]);
});

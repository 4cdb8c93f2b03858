import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Database } from "../testing/database.ts";
import { cleanUp } from "./clean-up.ts";

let database: Database;
beforeAll(async () => {
  database = await Database.start();
  // The database's own word on how many rows each statement removed.
  await database.pool.query(`
    create table removals (id serial, removed bigint);
    create function count_removals() returns trigger language plpgsql as $$
    begin
      insert into removals (removed) select count(*) from gone;
      return null;
    end
    $$;
    create trigger count_removals after delete on idempotency_keys
      referencing old table as gone for each statement execute function count_removals();`);
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await database.pool.query("truncate idempotency_keys, removals");
});

interface Kept {
  readonly count?: number;
  readonly state: "in_progress" | "completed" | "failed_retryable";
  readonly leaseLeftMs: number;
  readonly retentionLeftMs: number;
}

async function keep(name: string, { count = 1, state, leaseLeftMs, retentionLeftMs }: Kept): Promise<void> {
  await database.pool.query(
    `insert into idempotency_keys (scope, key, request_hash, state, lease_expires_at, created_at, expires_at)
     select 'test', $1 || number, 'hash', $2, clock_timestamp() + $3 * interval '1 ms', clock_timestamp(),
       clock_timestamp() + $4 * interval '1 ms'
     from generate_series(1, $5) number`,
    [name, state, leaseLeftMs, retentionLeftMs, count],
  );
}

async function kept(): Promise<string[]> {
  const { rows } = await database.pool.query<{ key: string }>("select key from idempotency_keys order by key");
  return rows.map(({ key }) => key);
}

async function batches(): Promise<number[]> {
  const { rows } = await database.pool.query<{ removed: string }>("select removed from removals order by id");
  return rows.map(({ removed }) => Number(removed));
}

const over = { state: "completed", leaseLeftMs: -2_000, retentionLeftMs: -1_000 } as const;

test("what is over goes, in batches of the size that was asked for", async () => {
  await keep("old", { ...over, count: 25 });
  expect(await cleanUp(database.pool, { batchRows: 10 })).toBe(25);
  expect(await batches()).toEqual([10, 10, 5]);
  expect(await kept()).toEqual([]);
});

test("a batch that happens to be full is followed by one that finds nothing", async () => {
  await keep("old", { ...over, count: 20 });
  expect(await cleanUp(database.pool, { batchRows: 10 })).toBe(20);
  expect(await batches()).toEqual([10, 10, 0]);
});

test("without a bound everything goes in one statement", async () => {
  await keep("old", { ...over, count: 2_500 });
  expect(await cleanUp(database.pool, { batchRows: Infinity })).toBe(2_500);
  expect(await batches()).toEqual([2_500]);
});

test("a cleanup that is told to end removes no further batch", async () => {
  await keep("old", { ...over, count: 20 });
  expect(await cleanUp(database.pool, { batchRows: 10, signal: AbortSignal.abort() })).toBe(0);
  expect(await batches()).toEqual([]);
});

test("the oldest go first", async () => {
  await keep("old", over);
  await keep("older", { ...over, retentionLeftMs: -5_000 });
  const { rows } = await database.pool.query("select key from idempotency_keys order by expires_at limit 1");
  const controller = new AbortController();
  const one = cleanUp(database.pool, { batchRows: 1, signal: controller.signal });
  controller.abort();
  await one;
  expect(rows).toEqual([{ key: "older1" }]);
  expect(await kept()).toEqual(["old1"]);
});

test("nothing goes whose retention is not over, nor a live claim, however old", async () => {
  await keep("answered", { state: "completed", leaseLeftMs: -1_000, retentionLeftMs: 60_000 });
  await keep("failed", { state: "failed_retryable", leaseLeftMs: -1_000, retentionLeftMs: 60_000 });
  await keep("holder-died", { state: "in_progress", leaseLeftMs: -1_000, retentionLeftMs: 60_000 });
  await keep("live", { state: "in_progress", leaseLeftMs: 60_000, retentionLeftMs: -60_000 });
  await keep("dead", { state: "in_progress", leaseLeftMs: -1_000, retentionLeftMs: -1_000 });
  await keep("done", { ...over, leaseLeftMs: 60_000 });
  await keep("freed", { ...over, state: "failed_retryable", leaseLeftMs: 60_000 });
  expect(await cleanUp(database.pool)).toBe(3);
  expect(await kept()).toEqual(["answered1", "failed1", "holder-died1", "live1"]);
});

test.each(["intent-recorded", "outcome-recorded"])(
  "a key whose outcome is open stays until it is resolved: %s",
  async (point) => {
    const { pool } = database;
    await keep("open", { state: "in_progress", leaseLeftMs: -60_000, retentionLeftMs: -60_000 });
    await pool.query("update idempotency_keys set recovery_point = $1", [point]);
    expect(await cleanUp(pool)).toBe(0);
    expect(await kept()).toEqual(["open1"]);
    await pool.query("update idempotency_keys set state = 'completed', recovery_point = 'completed'");
    expect(await cleanUp(pool)).toBe(1);
  },
);

test("what another session holds is left for the next time, without waiting", async () => {
  await keep("old", { ...over, count: 3 });
  const holder = await database.pool.connect();
  await holder.query("begin");
  await holder.query("select from idempotency_keys where key = 'old2' for update");
  expect(await cleanUp(database.pool)).toBe(2);
  expect(await kept()).toEqual(["old2"]);
  await holder.query("rollback");
  holder.release();
  expect(await cleanUp(database.pool)).toBe(1);
});

test("two cleanups side by side share the work", async () => {
  await keep("old", { ...over, count: 200 });
  const removed = await Promise.all([
    cleanUp(database.pool, { batchRows: 10 }),
    cleanUp(database.pool, { batchRows: 10 }),
  ]);
  expect(removed[0] + removed[1] + (await cleanUp(database.pool))).toBe(200);
  expect(Math.max(...(await batches()))).toBe(10);
});

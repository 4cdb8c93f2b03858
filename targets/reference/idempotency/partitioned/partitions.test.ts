import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { MIGRATIONS, migrate } from "../../migrate.ts";
import { openPool } from "../../pool.ts";
import { Database } from "../../testing/database.ts";
import type { Durations } from "../record.ts";
import { claimPartitionedKey } from "./claim.ts";
import { completePartitioned } from "./complete.ts";
import { createPartitions, dropPartitions, inPartition, periodMsOf } from "./partitions.ts";
import { takeOverPartitionedKey } from "./take-over.ts";

let database: Database;
/** Two replicas. */
let pools: readonly [pg.Pool, pg.Pool];
beforeAll(async () => {
  database = await Database.start();
  const open = () => openPool({ databaseUrl: database.url, poolSize: 10, leaseMs: 60_000 });
  pools = [open(), open()];
});
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await database[Symbol.asyncDispose]();
});
beforeEach(removeAllPartitions);

/** For what comes soon, on a machine with other work. */
const PATIENCE = { timeout: 10_000 };
const HOUR_MS = 3_600_000;
const durations: Durations = { leaseMs: 60_000, retentionMs: 60_000 };

interface Partition {
  readonly partition: string;
  readonly starts_at: Date;
  readonly ends_at: Date;
}

async function partitions(): Promise<Partition[]> {
  const { rows } = await database.pool.query("select * from idempotency_key_partitions order by starts_at");
  return rows;
}

async function removeAllPartitions(): Promise<void> {
  for (const { partition } of await partitions()) await database.pool.query(`drop table ${partition}`);
}

/** Every past partition has an hour of its own after this one. */
const PAST = new Date("2020-01-01T00:00:00Z");
let pasts = 0;

/** A partition whose time is over, with one record in it. */
async function pastPartition(record: {
  readonly state?: string;
  readonly leaseLeftMs?: number;
  readonly retentionLeftMs?: number;
}): Promise<string> {
  const key = randomUUID();
  const name = `past_${key.replaceAll("-", "")}`;
  const { state = "completed", leaseLeftMs = -1_000, retentionLeftMs = -1_000 } = record;
  pasts += 1;
  const begin = new Date(PAST.getTime() + pasts * HOUR_MS);
  const end = new Date(begin.getTime() + HOUR_MS);
  // In one transaction: empty, it would be dropped at once.
  await database.pool.query(`
    create table ${name} (like idempotency_keys_by_time including all, primary key (scope, key));
    alter table idempotency_keys_by_time attach partition ${name}
      for values from ('${begin.toISOString()}') to ('${end.toISOString()}');
    insert into idempotency_keys_by_time (scope, key, request_hash, state, lease_expires_at, created_at, expires_at)
    values ('test', '${key}', 'hash', '${state}', clock_timestamp() + interval '${leaseLeftMs} ms',
      '${begin.toISOString()}', clock_timestamp() + interval '${retentionLeftMs} ms')`);
  return key;
}

async function recordsOf(key: string): Promise<{ state: string; is_in_past: boolean }[]> {
  const { rows } = await database.pool.query(
    `select state, created_at < clock_timestamp() - interval '5 minutes' as is_in_past
     from idempotency_keys_by_time where key = $1`,
    [key],
  );
  return rows;
}

describe("creation", () => {
  test("replicas that create at once create each partition once, without a gap, from now on", async () => {
    const created = await Promise.all(Array.from({ length: 16 }, (_, index) => createPartitions(poolOf(index), 1_000)));
    const found = await partitions();
    expect(created.reduce((sum, count) => sum + count, 0)).toBe(found.length);
    expect(found.length).toBeGreaterThanOrEqual(3);
    for (const [index, { starts_at }] of found.entries()) {
      if (index > 0) expect(starts_at).toEqual(found[index - 1]?.ends_at);
    }
    const { rows } = await database.pool.query("select clock_timestamp() as now");
    expect(found[0]?.starts_at.getTime()).toBeLessThanOrEqual(rows[0].now.getTime());
    expect(found.at(-1)?.ends_at.getTime()).toBeGreaterThanOrEqual(rows[0].now.getTime() + 2_000);
  });

  test("another length of the period begins where the last partition ends", async () => {
    await createPartitions(pools[0], 1_700);
    const before = await partitions();
    await createPartitions(pools[0], 10_000);
    const after = await partitions();
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.length).toBeGreaterThan(before.length);
    for (const [index, { starts_at }] of after.entries()) {
      if (index > 0) expect(starts_at).toEqual(after[index - 1]?.ends_at);
    }
  });

  test("a time zone changes nothing", async () => {
    await createPartitions(pools[0], HOUR_MS);
    const before = await partitions();
    const client = await pools[0].connect();
    await client.query("set time zone 'Asia/Kathmandu'");
    const { rows } = await client.query("select create_key_partitions($1, 2) as created", [HOUR_MS]);
    client.release(true);
    expect(rows).toEqual([{ created: 0 }]);
    expect(await partitions()).toEqual(before);
  });

  test("a claim that finds no partition for its time creates it, and many of them win once", async () => {
    for (let round = 0; round < 3; round += 1) {
      await removeAllPartitions();
      const identity = { scope: "test", key: randomUUID() };
      const results = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          claimPartitionedKey(poolOf(index), 1_000, identity, "hash", durations),
        ),
      );
      expect(results.filter(({ won }) => won)).toHaveLength(1);
      expect(await recordsOf(identity.key)).toHaveLength(1);
    }
  });

  test("a claim that waited for its turn sees what was claimed in a partition created meanwhile", async () => {
    await pastPartition({ retentionLeftMs: 60_000 });
    const key = randomUUID();
    const other = await pools[1].connect();
    await other.query("begin");
    await other.query("select pg_advisory_xact_lock(hashtextextended('test' || $1, 0))", [key]);
    const waiting = claimPartitionedKey(pools[0], HOUR_MS, { scope: "test", key }, "hash", durations);
    await vi.waitFor(async () => {
      const { rows } = await database.pool.query("select from pg_locks where locktype = 'advisory' and not granted");
      expect(rows).toHaveLength(1);
    }, PATIENCE);
    await createPartitions(database.pool, HOUR_MS);
    const claimed = await other.query("select claimed from claim_key_by_time('test', $1, 'hash', 60000, 60000)", [key]);
    expect(claimed.rows).toEqual([{ claimed: true }]);
    await other.query("commit");
    other.release();
    expect((await waiting).won).toBe(false);
    expect(await recordsOf(key)).toHaveLength(1);
  });

  test("a takeover that finds no partition for its time creates it", async () => {
    const key = await pastPartition({ state: "in_progress" });
    const identity = { scope: "test", key };
    const { rows } = await database.pool.query("select fencing_token from idempotency_keys_by_time where key = $1", [
      key,
    ]);
    const seen = { fencingToken: rows[0].fencing_token };
    const taken = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        takeOverPartitionedKey(poolOf(index), 1_000, identity, seen, "hash", durations),
      ),
    );
    expect(taken.filter((claim) => claim !== null)).toHaveLength(1);
    expect(await recordsOf(key)).toEqual([{ state: "in_progress", is_in_past: false }]);
  });

  test("an error that is none of a missing partition is passed on", async () => {
    const broken = () =>
      pools[0].query(
        `insert into idempotency_keys_by_time (scope, key, request_hash, state, lease_expires_at, created_at, expires_at)
         values ('', '', '', 'unheard of', clock_timestamp(), clock_timestamp(), clock_timestamp())`,
      );
    await createPartitions(pools[0], 1_000);
    await expect(inPartition(pools[0], 1_000, broken)).rejects.toThrow("violates check constraint");
  });
});

describe("dropping", () => {
  test("a partition goes when its time and all its records are over", async () => {
    const answered = await pastPartition({});
    const freed = await pastPartition({ state: "failed_retryable" });
    const dead = await pastPartition({ state: "in_progress" });
    expect(await dropPartitions(pools[0])).toBe(3);
    expect(await partitions()).toEqual([]);
    for (const key of [answered, freed, dead]) expect(await recordsOf(key)).toEqual([]);
  });

  test("a partition stays as long as one record in it is within its retention, or one claim is live", async () => {
    const unexpired = await pastPartition({ retentionLeftMs: 60_000 });
    const claimable = await pastPartition({ state: "in_progress", retentionLeftMs: 60_000 });
    const live = await pastPartition({ state: "in_progress", leaseLeftMs: 60_000 });
    expect(await dropPartitions(pools[0])).toBe(0);
    for (const key of [unexpired, claimable, live]) expect(await recordsOf(key)).toHaveLength(1);
  });

  test("the partitions of now and of the future stay, even while they are empty", async () => {
    await createPartitions(pools[0], 1_000);
    const before = await partitions();
    expect(await dropPartitions(pools[0])).toBe(0);
    expect(await partitions()).toEqual(before);
  });

  test("replicas that drop at once drop each partition once", async () => {
    await pastPartition({});
    await pastPartition({});
    const dropped = await Promise.all(Array.from({ length: 10 }, (_, index) => dropPartitions(poolOf(index))));
    expect(dropped.reduce((sum, count) => sum + count, 0)).toBe(2);
  });

  test("a table that is in use is left for the next time, and keeps nobody waiting for long", async () => {
    await createPartitions(pools[0], HOUR_MS);
    await pastPartition({});
    const user = await pools[0].connect();
    await user.query("begin");
    await user.query("select from idempotency_keys_by_time");
    const started = performance.now();
    const dropping = dropPartitions(pools[0]);
    await sleep(20);
    // Behind the drop that waits.
    const claimed = claimPartitionedKey(pools[1], HOUR_MS, { scope: "test", key: randomUUID() }, "hash", durations);
    expect(await dropping).toBe(0);
    expect((await claimed).won).toBe(true);
    expect(performance.now() - started).toBeLessThan(2_000);
    await user.query("rollback");
    user.release();
    expect(await dropPartitions(pools[0])).toBe(1);
  });

  test("a partition that is still needed is passed over without a wait for the table", async () => {
    await pastPartition({ retentionLeftMs: 60_000 });
    const user = await pools[0].connect();
    await user.query("begin");
    await user.query("select from idempotency_keys_by_time");
    // A wait would last as long as this test may.
    const { rows } = await pools[1].query("select drop_key_partitions(600000) as dropped");
    expect(rows).toEqual([{ dropped: 0 }]);
    await user.query("rollback");
    user.release();
  });

  test("a claim made in time and committed late is seen: its partition stays", async () => {
    await pastPartition({});
    const [past] = await partitions();
    const late = randomUUID();
    const claimer = await pools[1].connect();
    await claimer.query("begin");
    await claimer.query(
      `insert into idempotency_keys_by_time (scope, key, request_hash, state, lease_expires_at, created_at, expires_at)
       values ('test', $1, 'hash', 'in_progress', clock_timestamp() + interval '1 minute', $2, clock_timestamp())`,
      [late, past?.starts_at],
    );
    const dropping = dropPartitions(pools[0]);
    await sleep(30);
    await claimer.query("commit");
    claimer.release();
    expect(await dropping).toBe(0);
    expect(await recordsOf(late)).toHaveLength(1);
  });
});

test("a takeover moves the record to now, fences its old holder and lets the old partition go", async () => {
  const key = await pastPartition({ state: "in_progress", retentionLeftMs: 60_000 });
  const identity = { scope: "test", key };
  const found = await claimPartitionedKey(pools[0], HOUR_MS, identity, "hash", durations);
  if (found.won) throw new Error("the key is claimed");
  const zombie = { ...identity, fencingToken: found.record.fencingToken };
  const claim = await takeOverPartitionedKey(pools[0], HOUR_MS, identity, found.record, "hash", durations);
  expect(claim).not.toBeNull();
  expect(await dropPartitions(pools[0])).toBe(1);
  expect(await recordsOf(key)).toEqual([{ state: "in_progress", is_in_past: false }]);
  const answer = async () => ({ status: 201, headers: {}, body: "" });
  await expect(completePartitioned(pools[1], zombie, answer)).rejects.toThrow();
  if (claim !== null) await completePartitioned(pools[1], claim, answer);
  expect(await recordsOf(key)).toEqual([{ state: "completed", is_in_past: false }]);
});

test("claims race as ever while partitions come and go under them", async () => {
  let isOver = false;
  let dropped = 0;
  const maintenance = pools.map(async (pool) => {
    while (!isOver) {
      await createPartitions(pool, 1_000);
      dropped += await dropPartitions(pool);
      await sleep(5);
    }
  });
  try {
    for (let round = 0; round < 10; round += 1) {
      await pastPartition({});
      const identity = { scope: "test", key: randomUUID() };
      const claims = Array.from({ length: 8 }, (_, index) =>
        claimPartitionedKey(poolOf(index), 1_000, identity, "hash", durations),
      );
      expect((await Promise.all(claims)).filter(({ won }) => won)).toHaveLength(1);
    }
    await vi.waitFor(() => expect(dropped).toBeGreaterThan(0), PATIENCE);
  } finally {
    isOver = true;
    await Promise.all(maintenance);
  }
});

test("the migrations may be applied where nothing was ever claimed", async () => {
  const pool = openPool({ databaseUrl: await database.empty(), poolSize: 2, leaseMs: 60_000 });
  await migrate(pool, MIGRATIONS);
  expect(await dropPartitions(pool)).toBe(0);
  const identity = { scope: "test", key: randomUUID() };
  expect((await claimPartitionedKey(pool, 1_000, identity, "hash", durations)).won).toBe(true);
  await pool.end();
});

test.each([
  ["a quarter of the retention", 86_400_000, 21_600_000],
  ["at least a second", 400, 1_000],
])("a period is %s", (_, retentionMs, periodMs) => {
  expect(periodMsOf(retentionMs)).toBe(periodMs);
});

function poolOf(index: number): pg.Pool {
  return index % 2 ? pools[0] : pools[1];
}

/**
 * The partitions that hold the key records: some periods are created ahead, and those that are over are
 * dropped. Both happen in one statement each, on the server: a replica that stops in the middle would
 * otherwise keep every other one waiting.
 */
import pg, { type Pool } from "pg";

/** What of a retention lies in one partition: few enough to look through, small enough to be gone soon after. */
const PERIODS_PER_RETENTION = 4;
/** With fewer ahead, a cleanup that comes late would make a claim wait until a partition is created. */
const PERIODS_AHEAD = 2;
/** For partitions shorter than this the tables would cost more than the records in them. */
const PERIOD_MS_MIN = 1_000;
/** So long may requests wait for a drop that cannot have its turn. */
const LOCK_TIMEOUT_MS = 100;

/** PostgreSQL's code for a row that no partition takes; a violated check has the same code, but a name. */
const CHECK_VIOLATION = "23514";

export function periodMsOf(retentionMs: number): number {
  return Math.max(PERIOD_MS_MIN, Math.ceil(retentionMs / PERIODS_PER_RETENTION));
}

/** Safe on any number of replicas at once; gives the number of partitions that were missing. */
export async function createPartitions(pool: Pool, periodMs: number): Promise<number> {
  const { rows } = await pool.query<{ created: number }>("select create_key_partitions($1, $2) as created", [
    periodMs,
    PERIODS_AHEAD,
  ]);
  return rows[0]?.created ?? 0;
}

/** Gives the number of partitions dropped; none when another replica is at it, or the table is in use. */
export async function dropPartitions(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ dropped: number }>("select drop_key_partitions($1) as dropped", [
    LOCK_TIMEOUT_MS,
  ]);
  return rows[0]?.dropped ?? 0;
}

/** Runs a statement that inserts, once more when nobody had created the partition for it. */
export async function inPartition<Result>(
  pool: Pool,
  periodMs: number,
  insert: () => Promise<Result>,
): Promise<Result> {
  try {
    return await insert();
  } catch (error) {
    if (!isPartitionMissing(error)) throw error;
    await createPartitions(pool, periodMs);
    return insert();
  }
}

function isPartitionMissing(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === CHECK_VIOLATION && error.constraint === undefined;
}

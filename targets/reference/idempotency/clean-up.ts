/**
 * Removes records whose retention is over, oldest first, in batches small enough not to be felt by the
 * requests beside them. Never removed, however old: a live claim, and one whose operation the processor may
 * have carried out, which has to be resolved first. Rows another session holds are left for the next time.
 */
import type { Pool } from "pg";

export const BATCH_ROWS = 500;

const CLEAN_UP = `
  delete from idempotency_keys
  where ctid = any(array(
    select ctid from idempotency_keys
    where expires_at <= clock_timestamp()
      and (state <> 'in_progress' or (lease_expires_at <= clock_timestamp() and recovery_point = 'claimed'))
    order by expires_at
    limit $1
    for update skip locked
  ))`;

export interface CleanUpOptions {
  /** Infinity: everything in one statement, as `idemproof bench --expired` compares with; not for production. */
  readonly batchRows?: number;
  /** Ends the work between two batches. */
  readonly signal?: AbortSignal;
}

/** Removes batch after batch until one is not full; gives the number of records removed. */
export async function cleanUp(pool: Pool, { batchRows = BATCH_ROWS, signal }: CleanUpOptions = {}): Promise<number> {
  // PostgreSQL takes null for no limit.
  const limit = Number.isFinite(batchRows) ? batchRows : null;
  let removed = 0;
  while (!signal?.aborted) {
    const { rowCount } = await pool.query(CLEAN_UP, [limit]);
    removed += rowCount ?? 0;
    if ((rowCount ?? 0) < batchRows) break;
  }
  return removed;
}

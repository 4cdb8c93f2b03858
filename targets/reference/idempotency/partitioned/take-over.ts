/** The conditional takeover, which moves the record to the partition of now. */
import type { Pool } from "pg";
import type { Claim, Durations, KeyIdentity, KeyRecord } from "../record.ts";
import { inPartition } from "./partitions.ts";

const TAKE_OVER = "select take_over_key_by_time($1, $2, $3, $4, $5, $6) as fencing_token";

/** Null: another attempt was faster, or the holder finished meanwhile. */
export async function takeOverPartitionedKey(
  pool: Pool,
  periodMs: number,
  { scope, key }: KeyIdentity,
  { fencingToken: seen }: Pick<KeyRecord, "fencingToken">,
  requestHash: string,
  { leaseMs, retentionMs }: Durations,
): Promise<Claim | null> {
  const values = [scope, key, seen, requestHash, leaseMs, retentionMs];
  const { rows } = await inPartition(pool, periodMs, () =>
    pool.query<{ fencing_token: string | null }>(TAKE_OVER, values),
  );
  const fencingToken = rows[0]?.fencing_token ?? null;
  return fencingToken === null ? null : { scope, key, fencingToken };
}

/** The atomic claim over all partitions; what makes it atomic is in 004_partitioned_keys.sql. */
import type { Pool } from "pg";
import { type ClaimResult, type ClaimRow, claimResultOf } from "../claim.ts";
import type { Durations, KeyIdentity } from "../record.ts";
import { inPartition } from "./partitions.ts";

const CLAIM = "select * from claim_key_by_time($1, $2, $3, $4, $5)";

export async function claimPartitionedKey(
  pool: Pool,
  periodMs: number,
  identity: KeyIdentity,
  requestHash: string,
  { leaseMs, retentionMs }: Durations,
): Promise<ClaimResult> {
  const values = [identity.scope, identity.key, requestHash, leaseMs, retentionMs];
  const { rows } = await inPartition(pool, periodMs, () => pool.query<ClaimRow>(CLAIM, values));
  const [row] = rows;
  if (row === undefined) throw new Error("claim_key_by_time gave neither a claim nor a record");
  return claimResultOf(identity, row);
}

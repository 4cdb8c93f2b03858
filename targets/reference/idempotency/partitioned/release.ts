/** A failure before any effect frees the key. Only the holder may free it. */
import type { Pool } from "pg";
import type { Claim } from "../record.ts";

const RELEASE = `
  update idempotency_keys_by_time
  set state = 'failed_retryable'
  where scope = $1 and key = $2 and fencing_token = $3 and state = 'in_progress'`;

export async function releasePartitioned(pool: Pool, { scope, key, fencingToken }: Claim): Promise<void> {
  await pool.query(RELEASE, [scope, key, fencingToken]);
}

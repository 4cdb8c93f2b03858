/**
 * Asked right before any call to the processor: is the claim still ours? Whoever lost it calls nobody. The
 * lease begins anew, so that the call, which takes less than a lease, ends within it.
 */
import type { Pool } from "pg";
import { ClaimLost } from "./complete.ts";
import type { Claim } from "./record.ts";

const RENEW = `
  update idempotency_keys
  set lease_expires_at = clock_timestamp() + $4 * interval '1 ms'
  where scope = $1 and key = $2 and fencing_token = $3
    and state = 'in_progress' and lease_expires_at > clock_timestamp()`;

export async function renew(pool: Pool, { scope, key, fencingToken }: Claim, leaseMs: number): Promise<void> {
  const { rowCount } = await pool.query(RENEW, [scope, key, fencingToken, leaseMs]);
  if (rowCount !== 1) throw new ClaimLost();
}

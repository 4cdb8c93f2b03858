/**
 * Records, before the processor hears of it, that it will be called and with what. From here on the operation
 * can be finished without its request, and is never forgotten before it is. The lease begins anew; whoever has
 * let it run out begins no call.
 */
import type { Pool } from "pg";
import { ClaimLost } from "./complete.ts";
import type { Claim, Intent } from "./record.ts";

const RECORD_INTENT = `
  update idempotency_keys
  set recovery_point = 'intent-recorded', downstream_key = $4, downstream_intent = $5, downstream_outcome = null,
    held_since = clock_timestamp(), tries = 0, next_look_at = null,
    lease_expires_at = clock_timestamp() + $6 * interval '1 ms'
  where scope = $1 and key = $2 and fencing_token = $3
    and state = 'in_progress' and lease_expires_at > clock_timestamp()`;

export async function recordIntent(
  pool: Pool,
  { scope, key, fencingToken }: Claim,
  { downstreamKey, caller, fields }: Intent,
  leaseMs: number,
): Promise<void> {
  const values = [scope, key, fencingToken, downstreamKey, { caller, fields }, leaseMs];
  const { rowCount } = await pool.query(RECORD_INTENT, values);
  if (rowCount !== 1) throw new ClaimLost();
}

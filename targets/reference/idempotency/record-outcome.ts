/** Records what the processor said: from here on nobody asks or calls it again for this operation. */
import type { Pool } from "pg";
import { ClaimLost } from "./complete.ts";
import type { Claim, Outcome } from "./record.ts";

/** As for a completion, the token alone decides: the word of the processor is no less true after a lease. */
const RECORD_OUTCOME = `
  update idempotency_keys
  set recovery_point = 'outcome-recorded', downstream_outcome = $4
  where scope = $1 and key = $2 and fencing_token = $3 and state = 'in_progress'`;

export async function recordOutcome(pool: Pool, { scope, key, fencingToken }: Claim, outcome: Outcome): Promise<void> {
  const { rowCount } = await pool.query(RECORD_OUTCOME, [scope, key, fencingToken, outcome]);
  if (rowCount !== 1) throw new ClaimLost();
}

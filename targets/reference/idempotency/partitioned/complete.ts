/** Completion of a record that lies in a partition: one transaction with the effect, fenced by the token. */
import type { Pool } from "pg";
import { completeBy, type EffectInTransaction } from "../complete.ts";
import type { Claim, StoredAnswer } from "../record.ts";

const COMPLETE = `
  update idempotency_keys_by_time
  set state = 'completed', recovery_point = 'completed',
    response_status = $4, response_headers = $5, response_body = $6
  where scope = $1 and key = $2 and fencing_token = $3`;

export function completePartitioned(pool: Pool, claim: Claim, effect: EffectInTransaction): Promise<StoredAnswer> {
  return completeBy(COMPLETE, pool, claim, effect);
}

/**
 * Defect: completion writes to the record without a condition. Whether this holder still has the key is not
 * asked, so one that lost its lease commits its effect beside that of whoever took over, and puts its own answer
 * over the other's.
 *
 * In the wild: `update … set status = 'done' where key = ?`, nearly everywhere. There is a lease, and a takeover
 * that minds it; the statement at the end was written when there was neither.
 *
 * Why it looks right: effect and record commit together, and who completes has claimed. It takes a holder that
 * stood still for longer than its lease.
 */
import type { Pool } from "pg";
import { type EffectInTransaction, inTransaction } from "../../reference/idempotency/complete.ts";
import type { Claim, StoredAnswer } from "../../reference/idempotency/record.ts";
import { serve } from "../../reference/serve.ts";

const COMPLETE = `
  update idempotency_keys
  set state = 'completed', recovery_point = 'completed', held_since = null,
    response_status = $3, response_headers = $4, response_body = $5
  where scope = $1 and key = $2`;

async function completeAnyway(pool: Pool, { scope, key }: Claim, effect: EffectInTransaction): Promise<StoredAnswer> {
  return inTransaction(pool, async (transaction) => {
    const answer = await effect(transaction);
    await transaction.query(COMPLETE, [scope, key, answer.status, answer.headers, answer.body]);
    return answer;
  });
}

await serve({ complete: completeAnyway });

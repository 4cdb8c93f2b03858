/**
 * Defect: the claim is a lock with an expiry, shorter than the work may take, and the lock is all there is. A
 * handler that takes its time loses it, the retry gets it, and both execute.
 *
 * In the wild: `SET key value NX EX 30` around a handler that sometimes takes 40 seconds. The expiry was chosen
 * by the usual duration; nobody renews it, and nobody asks at the end whether it was kept.
 *
 * Why it looks right: the lock excludes everybody for as long as work usually takes, and it frees itself when its
 * holder dies. In every test the handler is faster.
 */
import type { Pool } from "pg";
import { claimKey } from "../../reference/idempotency/claim.ts";
import { type EffectInTransaction, inTransaction } from "../../reference/idempotency/complete.ts";
import type { Claim, Durations, StoredAnswer } from "../../reference/idempotency/record.ts";
import { takeOver } from "../../reference/idempotency/take-over.ts";
import { serve } from "../../reference/serve.ts";

/** The usual work takes 20 ms. */
const LOCK_MS = 200;

const COMPLETE = `
  update idempotency_keys
  set state = 'completed', recovery_point = 'completed',
    response_status = $3, response_headers = $4, response_body = $5
  where scope = $1 and key = $2`;

function locked(durations: Durations): Durations {
  return { ...durations, leaseMs: LOCK_MS };
}

async function completeUnderLock(
  pool: Pool,
  { scope, key }: Claim,
  effect: EffectInTransaction,
): Promise<StoredAnswer> {
  return inTransaction(pool, async (transaction) => {
    const answer = await effect(transaction);
    await transaction.query(COMPLETE, [scope, key, answer.status, answer.headers, answer.body]);
    return answer;
  });
}

await serve({
  claim: (pool, identity, requestHash, durations) => claimKey(pool, identity, requestHash, locked(durations)),
  takeOver: (pool, identity, seen, requestHash, durations) =>
    takeOver(pool, identity, seen, requestHash, locked(durations)),
  complete: completeUnderLock,
});

/**
 * Defect: a failure frees the key, whoever holds it by now. A holder that has long lost its lease, and then fails,
 * frees a key that another one has completed meanwhile; the next retry executes again.
 *
 * In the wild: `redis.del(lock)` in a `finally`, and "delete the key on error" in key middlewares. The value that
 * would tell whose key it is is not looked at.
 *
 * Why it looks right: who frees a key has claimed it, a few lines further up. That it may have lost it since
 * takes a handler that is slow and then fails.
 */
import type { Pool } from "pg";
import type { Claim } from "../../reference/idempotency/record.ts";
import { serve } from "../../reference/serve.ts";

async function releaseByKey(pool: Pool, { scope, key }: Claim): Promise<void> {
  await pool.query("update idempotency_keys set state = 'failed_retryable' where scope = $1 and key = $2", [
    scope,
    key,
  ]);
}

await serve({ fail: releaseByKey });

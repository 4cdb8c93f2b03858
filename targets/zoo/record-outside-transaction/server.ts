/**
 * Defect: the record is completed over a connection of its own, not in the transaction of the effect. When that
 * transaction then fails, its effect is rolled back and the record stays: every retry gets a success for an
 * operation that never took effect.
 *
 * In the wild: key stores that are their own library, with their own connection or in another database, beside a
 * handler with a transaction; and `pool.query` in a place where it should say `transaction.query`.
 *
 * Why it looks right: the record is written last, when all the work is done, and the code stands between `begin`
 * and `commit`. What can still fail is the commit alone.
 */
import pg, { type Pool } from "pg";
import { ClaimLost, type EffectInTransaction, inTransaction } from "../../reference/idempotency/complete.ts";
import type { Claim, StoredAnswer } from "../../reference/idempotency/record.ts";
import { serve } from "../../reference/serve.ts";
import { settingsOf } from "../../reference/settings.ts";

const COMPLETE = `
  update idempotency_keys
  set state = 'completed', recovery_point = 'completed', held_since = null,
    response_status = $4, response_headers = $5, response_body = $6
  where scope = $1 and key = $2 and fencing_token = $3`;

const { databaseUrl, poolSize } = settingsOf(process.env);
const keyStore = new pg.Pool({ connectionString: databaseUrl, max: poolSize, allowExitOnIdle: true });
keyStore.on("error", (error) => console.error("an idle connection of the key store failed:", error.message));

async function completeApart(pool: Pool, claim: Claim, effect: EffectInTransaction): Promise<StoredAnswer> {
  return inTransaction(pool, async (transaction) => {
    const answer = await effect(transaction);
    const { scope, key, fencingToken } = claim;
    const { status, headers, body } = answer;
    const { rowCount } = await keyStore.query(COMPLETE, [scope, key, fencingToken, status, headers, body]);
    if (rowCount !== 1) throw new ClaimLost();
    return answer;
  });
}

await serve({ complete: completeApart });

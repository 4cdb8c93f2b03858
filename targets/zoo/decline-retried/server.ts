/**
 * Defect: a decline is answered and not stored. It frees the key, and the retry tries the card again under a new
 * key of the processor: a client that was told "declined", and asks again to be sure, finds itself charged.
 *
 * In the wild: layers that store what is a 2xx and free the key after anything else, with a number appended to
 * the processor's key because under the old one it "keeps answering 402".
 *
 * Why it looks right: a decline changed nothing, so there is nothing to protect from being done twice; and the
 * card may have money on it by now.
 */
import type { Pool } from "pg";
import { complete, type EffectInTransaction } from "../../reference/idempotency/complete.ts";
import type { Steps } from "../../reference/idempotency/plugin.ts";
import type { Claim, StoredAnswer } from "../../reference/idempotency/record.ts";
import { callProcessor } from "../../reference/processor/call.ts";
import { serve } from "../../reference/serve.ts";

const DECLINED = 402;

const FREE = `
  update idempotency_keys
  set state = 'failed_retryable'
  where scope = $1 and key = $2 and fencing_token = $3`;

async function keepSuccesses(pool: Pool, claim: Claim, effect: EffectInTransaction): Promise<StoredAnswer> {
  const answer = await complete(pool, claim, effect);
  if (answer.status === DECLINED) await pool.query(FREE, [claim.scope, claim.key, claim.fencingToken]);
  return answer;
}

/** How often each of the processor's keys was declined. */
const declines = new Map<string, number>();

const callAnew: Steps["call"] = async (processor, key, fields) => {
  const before = declines.get(key) ?? 0;
  const result = await callProcessor(processor, before === 0 ? key : `${key}-${before}`, fields);
  if (result.kind === "decided" && result.outcome.status === "declined") declines.set(key, before + 1);
  return result;
};

await serve({ complete: keepSuccesses, call: callAnew });

/**
 * Defect: an error after the work is logged, and the success is answered nevertheless. What failed was the
 * transaction, and the work was in it: the client holds a 201 for an order that was rolled back.
 *
 * In the wild: `try { await saveResponse() } catch (error) { log(error) }` at the end of a handler, since a
 * hiccup of the key store should fail no request; and a transaction that somebody later put around both.
 *
 * Why it looks right: the answer was there, so the work was done. A client that got its success never comes
 * back to find out.
 */
import type { Pool } from "pg";
import { ClaimLost, complete, type EffectInTransaction } from "../../reference/idempotency/complete.ts";
import type { Claim, StoredAnswer } from "../../reference/idempotency/record.ts";
import { serve } from "../../reference/serve.ts";

async function completeIfPossible(pool: Pool, claim: Claim, effect: EffectInTransaction): Promise<StoredAnswer> {
  let done: StoredAnswer | null = null;
  try {
    return await complete(pool, claim, async (transaction) => {
      const answer = await effect(transaction);
      done = answer;
      return answer;
    });
  } catch (error) {
    if (done === null || error instanceof ClaimLost) throw error;
    console.error("an answer could not be stored:", error);
    return done;
  }
}

await serve({ complete: completeIfPossible });

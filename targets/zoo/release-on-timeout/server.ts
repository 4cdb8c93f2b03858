/**
 * Defect: a charge whose outcome nobody knows frees its key. The call was sent and may have been carried out;
 * the retry finds a free key and calls again, without having asked what became of the first call.
 *
 * In the wild: the `catch` around the whole handler that frees the key on whatever error, so that "the client can
 * try again". Written for failures before the call, it also catches the timeout after it. Where the processor
 * forgets keys, as this one's does, or was never sent one, the customer is charged twice.
 *
 * Why it looks right: a failed request should not block its key, and an error is a failure.
 */
import type { Pool } from "pg";
import type { Claim } from "../../reference/idempotency/record.ts";
import { release } from "../../reference/idempotency/release.ts";
import { serve } from "../../reference/serve.ts";

async function free(pool: Pool, claim: Claim): Promise<number> {
  await release(pool, claim);
  return 0;
}

await serve({ hold: free });

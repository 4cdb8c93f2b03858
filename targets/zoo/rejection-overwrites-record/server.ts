/**
 * Defect: the refusal of another payload is stored under the key, over the answer that was there. One
 * mistaken request, and the rightful client's retries get a 422 for an operation that took effect.
 *
 * In the wild: layers that store "the response of this request" in a hook at the end, where the refusals
 * that the layer itself has raised come by as well.
 *
 * Why it looks right: the refusal is correct, and so is storing the answer of a request under its key. That
 * the refused request had no right to the key is a line somewhere else.
 */
import type { Pool } from "pg";
import { PROBLEM_TYPE, type Problem, problemBody } from "../../reference/idempotency/problem.ts";
import type { KeyIdentity } from "../../reference/idempotency/record.ts";
import { serve } from "../../reference/serve.ts";

const OVERWRITE = `
  update idempotency_keys
  set response_status = $3, response_headers = $4, response_body = $5
  where scope = $1 and key = $2 and state = 'completed'`;

async function storeRefusal(pool: Pool, { scope, key }: KeyIdentity, problem: Problem): Promise<void> {
  const headers = { "content-type": PROBLEM_TYPE };
  await pool.query(OVERWRITE, [scope, key, problem.statusCode, headers, problemBody(problem)]);
}

await serve({ refuse: storeRefusal });

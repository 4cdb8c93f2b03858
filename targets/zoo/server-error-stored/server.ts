/**
 * Defect: whatever the handler answers is stored, also a 5xx from before any effect. A moment's outage then
 * is the answer to every retry, and the client has no way left to get its operation done under its key.
 *
 * In the wild: layers that store in a hook around the handler without a look at the status. Some vendors
 * store 5xx on purpose, where the operation may have been carried out; here nothing was.
 *
 * Why it looks right: "every retry gets the same answer" is the promise, and this keeps it to the letter.
 */
import type { Pool } from "pg";
import { PROBLEM_TYPE, type Problem, problemBody } from "../../reference/idempotency/problem.ts";
import type { Claim } from "../../reference/idempotency/record.ts";
import { release } from "../../reference/idempotency/release.ts";
import { serve } from "../../reference/serve.ts";

const STORE = `
  update idempotency_keys
  set state = 'completed', recovery_point = 'completed',
    response_status = $4, response_headers = $5, response_body = $6
  where scope = $1 and key = $2 and fencing_token = $3 and state = 'in_progress'`;

async function store(pool: Pool, claim: Claim, problem: Problem): Promise<void> {
  if (problem.statusCode < 500) return release(pool, claim);
  const { scope, key, fencingToken } = claim;
  const headers = { "content-type": PROBLEM_TYPE };
  await pool.query(STORE, [scope, key, fencingToken, problem.statusCode, headers, problemBody(problem)]);
}

await serve({ fail: store });

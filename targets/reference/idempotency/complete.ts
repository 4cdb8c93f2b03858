/**
 * Completion: the effect and the answer become durable in one transaction, or neither does. A holder whose
 * token was replaced updates no row, and its effect is rolled back with it.
 */
import type { Pool, PoolClient } from "pg";
import type { Claim, StoredAnswer } from "./record.ts";

/** The claim went to another attempt while this one worked. */
export class ClaimLost extends Error {}

const COMPLETE = `
  update idempotency_keys
  set state = 'completed', recovery_point = 'completed',
    response_status = $4, response_headers = $5, response_body = $6
  where scope = $1 and key = $2 and fencing_token = $3 and state = 'in_progress'`;

/** What an operation does; runs inside the transaction that completes its record. */
export type EffectInTransaction = (transaction: PoolClient) => Promise<StoredAnswer>;

export async function complete(pool: Pool, claim: Claim, effect: EffectInTransaction): Promise<StoredAnswer> {
  return inTransaction(pool, async (transaction) => {
    const answer = await effect(transaction);
    const { rowCount } = await transaction.query(COMPLETE, [
      claim.scope,
      claim.key,
      claim.fencingToken,
      answer.status,
      answer.headers,
      answer.body,
    ]);
    if (rowCount !== 1) throw new ClaimLost();
    return answer;
  });
}

/** Commits what `work` did, or nothing of it when it throws. */
export async function inTransaction<Result>(
  pool: Pool,
  work: (transaction: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query("begin");
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (error) {
    // A connection on which even the rollback fails is not given back to the pool.
    await client.query("rollback").catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

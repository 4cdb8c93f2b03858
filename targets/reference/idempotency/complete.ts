/**
 * Completion: the effect and the answer become durable in one transaction, or neither does. A holder whose
 * token was replaced updates no row, and its effect is rolled back with it.
 */
import type { Pool, PoolClient } from "pg";
import { pass } from "../failpoints.ts";
import type { Claim, StoredAnswer } from "./record.ts";
import { OpenTransaction } from "./transaction.ts";

/** The lease ran out while this attempt worked: another one has the claim, or may take it. */
export class ClaimLost extends Error {}

/** The token alone decides: it belongs to one claim, and a takeover replaced it, whether its holder has finished or not. */
const COMPLETE = `
  update idempotency_keys
  set state = 'completed', recovery_point = 'completed', held_since = null,
    response_status = $4, response_headers = $5, response_body = $6
  where scope = $1 and key = $2 and fencing_token = $3`;

/** What an operation does; runs inside the transaction that completes its record. */
export type EffectInTransaction = (transaction: PoolClient) => Promise<StoredAnswer>;

export function complete(pool: Pool, claim: Claim, effect: EffectInTransaction): Promise<StoredAnswer> {
  return completeBy(COMPLETE, pool, claim, effect);
}

/** The same for any table: `statement` updates the held record to completed, and no other. */
export async function completeBy(
  statement: string,
  pool: Pool,
  { scope, key, fencingToken }: Claim,
  effect: EffectInTransaction,
): Promise<StoredAnswer> {
  return inTransaction(pool, async (transaction) => {
    const answer = await effect(transaction);
    const { status, headers, body } = answer;
    const { rowCount } = await transaction.query(statement, [scope, key, fencingToken, status, headers, body]);
    if (rowCount !== 1) throw new ClaimLost();
    return answer;
  });
}

/** Commits what `work` did, or nothing of it when it throws. */
export async function inTransaction<Result>(
  pool: Pool,
  work: (transaction: PoolClient) => Promise<Result>,
  begin = "begin",
): Promise<Result> {
  const transaction = new OpenTransaction(await pool.connect());
  try {
    await transaction.client.query(begin);
    const result = await work(transaction.client);
    await pass("before-commit");
    await transaction.commit();
    return result;
  } catch (error) {
    throw await undone(transaction, error);
  }
}

/** Rolls back what failed with this error, and gives what it means. */
export async function undone(transaction: OpenTransaction, error: unknown): Promise<unknown> {
  await transaction.rollBack();
  return transaction.wasTooSlow(error) ? new ClaimLost() : error;
}

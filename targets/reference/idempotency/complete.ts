/**
 * Completion: the effect and the answer become durable in one transaction, or neither does. A holder whose
 * token was replaced updates no row, and its effect is rolled back with it.
 */
import type { Pool, PoolClient } from "pg";
import { pass } from "../failpoints.ts";
import type { Claim, StoredAnswer } from "./record.ts";

/** The lease ran out while this attempt worked: another one has the claim, or may take it. */
export class ClaimLost extends Error {}

/** The database ended a transaction that stood still for as long as a lease; see pool.ts. */
const IDLE_IN_TRANSACTION_TIMEOUT = "25P03";

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
  const client = await pool.connect();
  let lost: (Error & { code?: string }) | undefined;
  // A connection can be lost between two statements; without a listener that would end the process.
  const onError = (error: Error): void => {
    lost ??= error;
  };
  client.on("error", onError);
  try {
    await client.query(begin);
    const result = await work(client);
    await pass("before-commit");
    await client.query("commit");
    return result;
  } catch (error) {
    // A connection on which even the rollback fails is not given back to the pool.
    await client.query("rollback").catch(onError);
    throw lost?.code === IDLE_IN_TRANSACTION_TIMEOUT ? new ClaimLost() : error;
  } finally {
    client.off("error", onError);
    client.release(lost);
  }
}

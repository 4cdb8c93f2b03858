/**
 * Claim and effect in one transaction, for local operations. A claim is an open transaction with the key's lock;
 * nothing of it is seen by others until it is committed together with the effect and the answer. So it has no
 * lease and is never taken over: when its process dies, PostgreSQL ends the transaction, and the key is free.
 *
 *   look (and lock) → begin → effect → record → commit
 *
 * The lock decides conflicts without waiting. The unique key decides the rest: an attempt that looked before
 * another one's commit and got the lock after it finds the record when it writes its own, and is rolled back.
 *
 * What it costs: a connection for as long as the operation takes, its work before the effect included. An
 * operation that calls a processor is for the other way: here, a crash would forget that it had called.
 */
import type { Pool } from "pg";
import { pass } from "../../failpoints.ts";
import { type ClaimResult, claimResultOf } from "../claim.ts";
import { ClaimLost, type EffectInTransaction, undone } from "../complete.ts";
import type { Steps } from "../plugin.ts";
import type { Claim, Durations, KeyIdentity, KeyRecord, StoredAnswer } from "../record.ts";
import { OpenTransaction } from "../transaction.ts";
import { IS_FREE, look } from "./look.ts";

export const oneTransactionSteps: Pick<Steps, "claim" | "takeOver" | "complete" | "fail"> = {
  claim: claimInTransaction,
  // Not even a record whose holder was one of the other way: it is claimed like one that is not there.
  takeOver: async () => null,
  complete: completeInTransaction,
  fail: async (_pool, claim) => opened(claim).transaction.rollBack(),
};

/** A claim, and what it takes to finish it. Its token is that of the record it replaces. */
interface OpenClaim extends Claim {
  readonly transaction: OpenTransaction;
  readonly requestHash: string;
  readonly retentionMs: number;
}

/** Tokens begin at one. */
const NO_TOKEN = "0";

async function claimInTransaction(
  pool: Pool,
  identity: KeyIdentity,
  requestHash: string,
  { leaseMs, retentionMs }: Durations,
): Promise<ClaimResult> {
  const transaction = new OpenTransaction(await pool.connect());
  try {
    const found = await look(transaction.client, identity, requestHash, leaseMs);
    if (found.claimed) {
      const claim = {
        ...identity,
        fencingToken: found.fencing_token ?? NO_TOKEN,
        transaction,
        requestHash,
        retentionMs,
      };
      return { won: true, claim };
    }
    transaction.giveBack();
    return found.claimed === null
      ? claimResultOf(identity, { ...found, claimed: false })
      : { won: false, record: inFlight(requestHash) };
  } catch (error) {
    throw await undone(transaction, error);
  }
}

/**
 * All that can be known of a transaction that is not committed: it is there. Whether it carries out the same
 * request is not, nor when it ends; usually it does within the second for which a client is told to wait.
 */
function inFlight(requestHash: string): KeyRecord {
  return {
    requestHash,
    state: "in_progress",
    fencingToken: NO_TOKEN,
    leaseLeftMs: 1,
    isExpired: false,
    answer: null,
  };
}

/** Counted from the beginning of the transaction, as the other way counts from its claim. */
const RECORD = `
  insert into idempotency_keys as record (scope, key, request_hash, state, recovery_point,
    lease_expires_at, created_at, expires_at, response_status, response_headers, response_body)
  values ($1, $2, $3, 'completed', 'completed',
    now(), now(), now() + $5 * interval '1 ms', $6, $7, $8)
  on conflict (scope, key) do update
  set fencing_token = nextval('fencing_tokens'), request_hash = excluded.request_hash,
    state = excluded.state, recovery_point = excluded.recovery_point, lease_expires_at = excluded.lease_expires_at,
    created_at = excluded.created_at, expires_at = excluded.expires_at, response_status = excluded.response_status,
    response_headers = excluded.response_headers, response_body = excluded.response_body
  where record.fencing_token = $4 and ${IS_FREE}`;

async function completeInTransaction(_pool: Pool, claim: Claim, effect: EffectInTransaction): Promise<StoredAnswer> {
  const { transaction, scope, key, requestHash, fencingToken, retentionMs } = opened(claim);
  const { client } = transaction;
  try {
    const answer = await effect(client);
    const { status, headers, body } = answer;
    const values = [scope, key, requestHash, fencingToken, retentionMs, status, headers, body];
    const { rowCount } = await client.query(RECORD, values);
    if (rowCount !== 1) throw new ClaimLost();
    await pass("before-commit");
    await transaction.commit();
    return answer;
  } catch (error) {
    throw await undone(transaction, error);
  }
}

function opened(claim: Claim): OpenClaim {
  if (!("transaction" in claim)) throw new Error("This key was claimed in another way than it is completed");
  return claim as OpenClaim;
}

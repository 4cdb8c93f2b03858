/** What the claims here have in common: to insert a record, to look for one, and transactions to do it in. */
import pg, { type Pool, type PoolClient } from "pg";
import { type ClaimResult, type ClaimRow, claimResultOf } from "../reference/idempotency/claim.ts";
import { undone } from "../reference/idempotency/complete.ts";
import type { Claim, Durations, KeyIdentity } from "../reference/idempotency/record.ts";
import { OpenTransaction } from "../reference/idempotency/transaction.ts";

type Queryable = Pick<PoolClient, "query">;

const INSERT = `
  insert into idempotency_keys (scope, key, request_hash, state, lease_expires_at, created_at, expires_at)
  values ($1, $2, $3, 'in_progress',
    clock_timestamp() + $4 * interval '1 ms', clock_timestamp(), clock_timestamp() + $5 * interval '1 ms')`;

const LOOK = `
  select fencing_token, request_hash, state, recovery_point,
    (extract(epoch from lease_expires_at - clock_timestamp()) * 1000)::float8 as lease_left_ms,
    expires_at <= clock_timestamp() as is_expired, response_status, response_headers, response_body
  from idempotency_keys where scope = $1 and key = $2`;

/** Throws for a key that is there. */
export async function insert(
  database: Queryable,
  { scope, key }: KeyIdentity,
  requestHash: string,
  { leaseMs, retentionMs }: Durations,
): Promise<Claim> {
  const values = [scope, key, requestHash, leaseMs, retentionMs];
  const { rows } = await database.query<ClaimRow>(`${INSERT} returning fencing_token`, values);
  return { scope, key, fencingToken: rows[0]?.fencing_token ?? "" };
}

/** Null: there is no record. `locking` ends the statement. */
export async function look(database: Queryable, identity: KeyIdentity, locking = ""): Promise<ClaimResult | null> {
  const { rows } = await database.query<ClaimRow>(`${LOOK} ${locking}`, [identity.scope, identity.key]);
  const [row] = rows;
  return row === undefined ? null : claimResultOf(identity, { ...row, claimed: false });
}

/** A transaction of the claim alone. It passes no failpoint: those of a transaction mean the effect's. */
export async function claimApart(
  pool: Pool,
  begin: string,
  work: (transaction: PoolClient) => Promise<ClaimResult>,
): Promise<ClaimResult> {
  const transaction = new OpenTransaction(await pool.connect());
  try {
    await transaction.client.query(begin);
    const result = await work(transaction.client);
    await transaction.commit();
    return result;
  } catch (error) {
    throw await undone(transaction, error);
  }
}

export const UNIQUE_VIOLATION = "23505";

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof pg.DatabaseError && codes.includes(error.code ?? "");
}

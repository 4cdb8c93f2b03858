/**
 * The atomic claim: one statement either inserts the record or returns the one that is there. The unique
 * key decides between any number of duplicates; nobody looks first and acts afterwards.
 */
import type { Pool } from "pg";
import type { Claim, Durations, KeyIdentity, KeyRecord, StoredAnswer } from "./record.ts";

export type ClaimResult =
  | { readonly won: true; readonly claim: Claim }
  | { readonly won: false; readonly record: KeyRecord };

/** What either variant of the claim gives: the claim, or the record that was there. */
export interface ClaimRow {
  claimed: boolean;
  fencing_token: string;
  request_hash: string;
  state: KeyRecord["state"];
  lease_left_ms: number;
  is_expired: boolean;
  /** The partitioned store has none: its operations have no recovery points. */
  recovery_point?: KeyRecord["recoveryPoint"] | null;
  response_status: number | null;
  response_headers: Record<string, string> | null;
  response_body: string | null;
}

/**
 * Both parts see the same snapshot. A record that was committed after it is in neither part: the insert
 * finds the conflict and does nothing, the select does not see the row yet. Then the statement is repeated.
 */
const CLAIM = `
  with claimed as (
    insert into idempotency_keys (scope, key, request_hash, state, lease_expires_at, created_at, expires_at)
    select $1, $2, $3, 'in_progress',
      clock_timestamp() + $4 * interval '1 ms', clock_timestamp(), clock_timestamp() + $5 * interval '1 ms'
    where not exists (select from idempotency_keys where scope = $1 and key = $2)
    on conflict (scope, key) do nothing
    returning fencing_token
  )
  select true as claimed, fencing_token, null as request_hash, null as state, 0 as lease_left_ms, false as is_expired,
    null as recovery_point, null::int as response_status, null::jsonb as response_headers, null as response_body
  from claimed
  union all
  select false, fencing_token, request_hash, state,
    (extract(epoch from lease_expires_at - clock_timestamp()) * 1000)::float8, expires_at <= clock_timestamp(),
    recovery_point, response_status, response_headers, response_body
  from idempotency_keys where scope = $1 and key = $2`;

/** Each repetition means that another claim was committed or cleaned away meanwhile. */
const CLAIM_TRIES = 10;

export function claimKey(
  pool: Pool,
  identity: KeyIdentity,
  requestHash: string,
  durations: Durations,
): Promise<ClaimResult> {
  return claimBy(CLAIM, pool, identity, requestHash, durations);
}

/** The same by another statement, which gives the columns of this one. */
export async function claimBy(
  statement: string,
  pool: Pool,
  identity: KeyIdentity,
  requestHash: string,
  { leaseMs, retentionMs }: Durations,
): Promise<ClaimResult> {
  const { scope, key } = identity;
  for (let tries = 0; tries < CLAIM_TRIES; tries += 1) {
    const { rows } = await pool.query<ClaimRow>(statement, [scope, key, requestHash, leaseMs, retentionMs]);
    const [row] = rows;
    if (row !== undefined) return claimResultOf(identity, row);
  }
  throw new Error(`The key was claimed and removed ${CLAIM_TRIES} times in a row`);
}

export function claimResultOf({ scope, key }: KeyIdentity, row: ClaimRow): ClaimResult {
  if (row.claimed) return { won: true, claim: { scope, key, fencingToken: row.fencing_token } };
  return { won: false, record: recordOf(row) };
}

function recordOf(row: ClaimRow): KeyRecord {
  return {
    requestHash: row.request_hash,
    state: row.state,
    fencingToken: row.fencing_token,
    leaseLeftMs: row.lease_left_ms,
    isExpired: row.is_expired,
    answer: answerOf(row),
    recoveryPoint: row.recovery_point ?? "claimed",
  };
}

function answerOf({
  response_status: status,
  response_headers: headers,
  response_body: body,
}: ClaimRow): StoredAnswer | null {
  return status === null || headers === null || body === null ? null : { status, headers, body };
}

/**
 * The conditional takeover: a record whose holder's lease is over, whose last attempt failed before any
 * effect, or whose retention is over, gets a new holder. Whoever saw the same token first wins; a holder
 * that wakes up later finds another token and can finish nothing.
 *
 * What was in progress keeps its recovery point, and past the first one it can only be resumed, by the same
 * request, however old it is. Everything else begins anew.
 */
import type { Pool } from "pg";
import type { Claim, Durations, KeyIdentity, KeyRecord, Outcome, Progress } from "./record.ts";

const TAKE_OVER = `
  update idempotency_keys
  set fencing_token = nextval('fencing_tokens'), request_hash = $4, state = 'in_progress',
    recovery_point = case when state = 'in_progress' then recovery_point else 'claimed' end,
    lease_expires_at = clock_timestamp() + $5 * interval '1 ms',
    expires_at = clock_timestamp() + $6 * interval '1 ms',
    response_status = null, response_headers = null, response_body = null
  where scope = $1 and key = $2 and fencing_token = $3
    and case state
      when 'in_progress' then lease_expires_at <= clock_timestamp() and (recovery_point = 'claimed' or request_hash = $4)
      when 'failed_retryable' then true
      else expires_at <= clock_timestamp()
    end
  returning fencing_token, recovery_point, downstream_outcome`;

interface Row {
  fencing_token: string;
  recovery_point: Progress["point"];
  downstream_outcome: Outcome | null;
}

/** Null: another attempt was faster, or the holder finished meanwhile. */
export function takeOver(
  pool: Pool,
  identity: KeyIdentity,
  seen: Pick<KeyRecord, "fencingToken">,
  requestHash: string,
  durations: Durations,
): Promise<Claim | null> {
  return takeOverBy(TAKE_OVER, pool, identity, seen, requestHash, durations);
}

/** The same by another statement, which gives the columns of this one. */
export async function takeOverBy(
  statement: string,
  pool: Pool,
  { scope, key }: KeyIdentity,
  seen: Pick<KeyRecord, "fencingToken">,
  requestHash: string,
  { leaseMs, retentionMs }: Durations,
): Promise<Claim | null> {
  const values = [scope, key, seen.fencingToken, requestHash, leaseMs, retentionMs];
  const { rows } = await pool.query<Row>(statement, values);
  const [row] = rows;
  return row === undefined ? null : { scope, key, fencingToken: row.fencing_token, progress: progressOf(row) };
}

function progressOf({ recovery_point: point, downstream_outcome: outcome }: Row): Progress {
  switch (point) {
    case "claimed":
    case "intent-recorded":
      return { point };
    case "outcome-recorded":
      if (outcome === null) throw new Error("An outcome was recorded, and there is none");
      return { point, outcome };
  }
}

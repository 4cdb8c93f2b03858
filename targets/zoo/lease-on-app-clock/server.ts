/**
 * Defect: leases are told by the clock of whichever host looks at them. Where one host's clock is ahead, the
 * others wait for its dead claims as much longer, and it takes their live ones for expired.
 *
 * In the wild: `Date.now() + LEASE_MS` written to a column and compared with `Date.now()` elsewhere, in most
 * lock tables made by hand. Hosts that lost their time server, or were resumed from a snapshot, are seconds off.
 *
 * Why it looks right: on the author's machine all processes have one clock. So have the lab's replicas; here the
 * first one's host is ahead by AHEAD_MS, which changes nothing for a service that asks the database for the time.
 */
import type { Pool } from "pg";
import { type ClaimResult, claimBy } from "../../reference/idempotency/claim.ts";
import type { Claim, Durations, KeyIdentity, KeyRecord } from "../../reference/idempotency/record.ts";
import { takeOverBy } from "../../reference/idempotency/take-over.ts";
import { serve } from "../../reference/serve.ts";

const AHEAD_MS = 6_000;
const hostAheadMs = process.env["REPLICA"] === "0" ? AHEAD_MS : 0;

/** This host's time, as the statements' `clock_timestamp()` would be the database's. */
function now(): string {
  return `timestamptz '${new Date(Date.now() + hostAheadMs).toISOString()}'`;
}

function claim(pool: Pool, identity: KeyIdentity, requestHash: string, durations: Durations): Promise<ClaimResult> {
  const statement = `
    with claimed as (
      insert into idempotency_keys (scope, key, request_hash, state, lease_expires_at, created_at, expires_at)
      select $1, $2, $3, 'in_progress',
        ${now()} + $4 * interval '1 ms', clock_timestamp(), clock_timestamp() + $5 * interval '1 ms'
      where not exists (select from idempotency_keys where scope = $1 and key = $2)
      on conflict (scope, key) do nothing
      returning fencing_token
    )
    select true as claimed, fencing_token, null as request_hash, null as state, 0 as lease_left_ms, false as is_expired,
      null as recovery_point, null::int as response_status, null::jsonb as response_headers, null as response_body
    from claimed
    union all
    select false, fencing_token, request_hash, state,
      (extract(epoch from lease_expires_at - ${now()}) * 1000)::float8, expires_at <= clock_timestamp(),
      recovery_point, response_status, response_headers, response_body
    from idempotency_keys where scope = $1 and key = $2`;
  return claimBy(statement, pool, identity, requestHash, durations);
}

function takeOver(
  pool: Pool,
  identity: KeyIdentity,
  seen: KeyRecord,
  requestHash: string,
  durations: Durations,
): Promise<Claim | null> {
  const statement = `
    update idempotency_keys
    set fencing_token = nextval('fencing_tokens'), request_hash = $4, state = 'in_progress', recovery_point = 'claimed',
      lease_expires_at = ${now()} + $5 * interval '1 ms',
      expires_at = clock_timestamp() + $6 * interval '1 ms',
      response_status = null, response_headers = null, response_body = null
    where scope = $1 and key = $2 and fencing_token = $3
      and case state
        when 'in_progress' then lease_expires_at <= ${now()}
        when 'failed_retryable' then true
        else expires_at <= clock_timestamp()
      end
    returning fencing_token, recovery_point, downstream_outcome`;
  return takeOverBy(statement, pool, identity, seen, requestHash, durations);
}

await serve({ claim, takeOver });

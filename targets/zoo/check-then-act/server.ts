/**
 * Defect: the key is looked up first and recorded after the work. Between the two nothing stands for the
 * operation, so duplicates that arrive while the first one works all find nothing and all execute.
 *
 * In the wild: the most common key middleware there is. A hook before the handler looks for a stored
 * response, a hook after it stores one; caches and tables alike, in every language.
 *
 * Why it looks right: a retry by hand always comes after the answer, and then the record is there. The
 * insert even minds its unique key and becomes an update, so that nobody sees an error. By then there are two
 * effects, and the answer that one client got is not the one that is kept.
 */
import type { Pool } from "pg";
import type { ClaimResult } from "../../reference/idempotency/claim.ts";
import { type EffectInTransaction, inTransaction } from "../../reference/idempotency/complete.ts";
import type { Claim, Durations, KeyIdentity, StoredAnswer } from "../../reference/idempotency/record.ts";
import { serve } from "../../reference/serve.ts";

/** Nothing was claimed; this is what has to be remembered until there is something to insert. */
interface Lookup extends Claim {
  readonly requestHash: string;
  readonly retentionMs: number;
}

interface Row {
  request_hash: string;
  response_status: number;
  response_headers: Record<string, string>;
  response_body: string;
}

const LOOK = `
  select request_hash, response_status, response_headers, response_body
  from idempotency_keys
  where scope = $1 and key = $2 and expires_at > clock_timestamp()`;

const STORE = `
  insert into idempotency_keys (scope, key, request_hash, state, recovery_point, lease_expires_at, created_at,
    expires_at, response_status, response_headers, response_body)
  values ($1, $2, $3, 'completed', 'completed', clock_timestamp(), clock_timestamp(),
    clock_timestamp() + $4 * interval '1 ms', $5, $6, $7)
  on conflict (scope, key) do update
  set request_hash = excluded.request_hash, created_at = excluded.created_at, expires_at = excluded.expires_at,
    response_status = excluded.response_status, response_headers = excluded.response_headers,
    response_body = excluded.response_body`;

async function look(
  pool: Pool,
  { scope, key }: KeyIdentity,
  requestHash: string,
  { retentionMs }: Durations,
): Promise<ClaimResult> {
  const { rows } = await pool.query<Row>(LOOK, [scope, key]);
  const [row] = rows;
  if (row === undefined) {
    const lookup: Lookup = { scope, key, fencingToken: "1", requestHash, retentionMs };
    return { won: true, claim: lookup };
  }
  const answer = { status: row.response_status, headers: row.response_headers, body: row.response_body };
  return {
    won: false,
    record: {
      requestHash: row.request_hash,
      state: "completed",
      fencingToken: "1",
      leaseLeftMs: 0,
      isExpired: false,
      answer,
    },
  };
}

/** The claim that is completed is the one that `look` made. */
async function actAndStore(pool: Pool, lookup: Lookup, effect: EffectInTransaction): Promise<StoredAnswer> {
  return inTransaction(pool, async (transaction) => {
    const answer = await effect(transaction);
    const { scope, key, requestHash, retentionMs } = lookup;
    const { status, headers, body } = answer;
    await transaction.query(STORE, [scope, key, requestHash, retentionMs, status, headers, body]);
    return answer;
  });
}

await serve({ claim: look, complete: actAndStore, fail: () => Promise.resolve() });

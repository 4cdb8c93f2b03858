/**
 * What becomes of a key when nobody knows what the processor did: nothing. It stays in progress, so that no
 * retry calls again before the lease is over, and whoever takes it over then asks first.
 */
import type { Pool } from "pg";
import type { Claim } from "./record.ts";

const LEASE_LEFT = `
  select (extract(epoch from lease_expires_at - clock_timestamp()) * 1000)::float8 as lease_left_ms
  from idempotency_keys
  where scope = $1 and key = $2 and fencing_token = $3 and state = 'in_progress'`;

/** Gives the milliseconds until the key can be taken over; none when it was, or is done after all. */
export async function hold(pool: Pool, { scope, key, fencingToken }: Claim): Promise<number> {
  const { rows } = await pool.query<{ lease_left_ms: number }>(LEASE_LEFT, [scope, key, fencingToken]);
  return rows[0]?.lease_left_ms ?? 0;
}

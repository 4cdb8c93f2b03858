/**
 * The reconciler found nothing out: the lease ends now, so that a client's retry can take over at once, and the
 * next look comes later than the last one did. The key stays held; this frees it for nobody's new operation.
 */
import type { Pool } from "pg";
import type { Claim } from "./record.ts";

/** A wait of a million times the first one is as good as none at all; more would not fit into an interval. */
const DOUBLINGS_MAX = 20;

const GIVE_BACK = `
  update idempotency_keys
  set lease_expires_at = clock_timestamp(), tries = tries + 1,
    next_look_at = clock_timestamp() + $4 * power(2, least(tries, ${DOUBLINGS_MAX})) * interval '1 ms'
  where scope = $1 and key = $2 and fencing_token = $3 and state = 'in_progress'`;

/** The first wait is `everyMs` milliseconds, each further one twice as long. */
export async function giveBack(pool: Pool, { scope, key, fencingToken }: Claim, everyMs: number): Promise<void> {
  await pool.query(GIVE_BACK, [scope, key, fencingToken, everyMs]);
}

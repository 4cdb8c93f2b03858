/**
 * Defect: the cleanup also sweeps away claims that have been in progress for longer than a request takes. It goes
 * by their age and not by their lease, so it deletes the claim of a handler that is only slow, and of a charge
 * whose outcome is open: the holder cannot finish, and a retry begins from the start.
 *
 * In the wild: nightly jobs with `delete … where created_at < now() - interval '1 hour'`, whatever the state; and
 * sweepers of "stuck" rows beside a takeover that would have dealt with them.
 *
 * Why it looks right: a claim that old belongs to a crashed process, nearly always.
 */
import type { Pool } from "pg";
import { cleanUp } from "../../reference/idempotency/clean-up.ts";
import { serve } from "../../reference/serve.ts";

/** The usual work takes 20 ms. */
const STUCK_MS = 300;

const SWEEP = `
  delete from idempotency_keys
  where state = 'in_progress' and created_at <= clock_timestamp() - $1 * interval '1 ms'`;

async function cleanUpAndSweep(pool: Pool, signal: AbortSignal): Promise<number> {
  const { rowCount } = await pool.query(SWEEP, [STUCK_MS]);
  return (rowCount ?? 0) + (await cleanUp(pool, { signal }));
}

await serve({ cleanUp: cleanUpAndSweep });

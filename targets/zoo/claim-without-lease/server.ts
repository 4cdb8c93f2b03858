/**
 * Defect: a claim has no end. When its holder dies between claim and answer, the record says "in progress"
 * for good: every retry gets a 409 that invites it to come back, and none ever gets an answer.
 *
 * In the wild: tables with a status and no time of claiming, locks without an expiry, and lock expiries that
 * were dropped because a slow handler had once outlived its own.
 *
 * Why it looks right: the handler always ends the claim, in a `finally` even. A killed process runs none.
 */
import type { Pool } from "pg";
import { type Decision, decide } from "../../reference/idempotency/plugin.ts";
import type { KeyRecord } from "../../reference/idempotency/record.ts";
import { serve } from "../../reference/serve.ts";

/** In progress is in progress, however long ago it began. */
function decideWithoutLease(record: KeyRecord, requestHash: string): Decision {
  if (record.state !== "in_progress") return decide(record, requestHash);
  return record.requestHash === requestHash ? "conflict" : "mismatch";
}

/** Who knows no lease cannot tell a dead claim from a live one, so the cleanup leaves both alone. */
async function cleanUpAnswers(pool: Pool): Promise<number> {
  const { rowCount } = await pool.query(
    "delete from idempotency_keys where state <> 'in_progress' and expires_at <= clock_timestamp()",
  );
  return rowCount ?? 0;
}

await serve({ decide: decideWithoutLease, cleanUp: cleanUpAnswers });

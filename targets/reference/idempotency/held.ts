/** The keys whose outcome is open: those the reconciler has to look at, and all of them for people. */
import type { Pool } from "pg";
import type { Intent, KeyIdentity } from "./record.ts";

const IS_HELD = `held_since is not null and state = 'in_progress'
    and recovery_point in ('intent-recorded', 'outcome-recorded')`;

const DUE = `
  select scope, key, request_hash, fencing_token, downstream_key, downstream_intent
  from idempotency_keys
  where ${IS_HELD} and lease_expires_at <= clock_timestamp() and tries < $1
    and (next_look_at is null or next_look_at <= clock_timestamp())
  order by held_since
  limit $2`;

const LIST = `
  select scope, key, recovery_point, downstream_key, downstream_outcome, tries, held_since, next_look_at,
    lease_expires_at > clock_timestamp() as is_leased
  from idempotency_keys
  where ${IS_HELD}
  order by held_since
  limit $1`;

/** More than anybody reads; what is oldest comes first. */
const LIST_ROWS_MAX = 1_000;

export interface DueKey {
  readonly identity: KeyIdentity;
  readonly requestHash: string;
  readonly fencingToken: string;
  readonly intent: Intent;
}

interface DueRow {
  scope: string;
  key: string;
  request_hash: string;
  fencing_token: string;
  downstream_key: string;
  downstream_intent: Omit<Intent, "downstreamKey">;
}

/** At most so many keys whose lease and wait are over, and that were looked at fewer than `triesMax` times. */
export async function dueKeys(pool: Pool, triesMax: number, rowsMax: number): Promise<DueKey[]> {
  const { rows } = await pool.query<DueRow>(DUE, [triesMax, rowsMax]);
  return rows.map((row) => ({
    identity: { scope: row.scope, key: row.key },
    requestHash: row.request_hash,
    fencingToken: row.fencing_token,
    intent: { downstreamKey: row.downstream_key, ...row.downstream_intent },
  }));
}

interface HeldRow {
  scope: string;
  key: string;
  recovery_point: string;
  downstream_key: string;
  downstream_outcome: object | null;
  tries: number;
  held_since: Date;
  next_look_at: Date | null;
  is_leased: boolean;
}

/** What is known of every key whose outcome is open, as JSON for people. */
export async function heldKeys(pool: Pool, triesMax: number): Promise<object[]> {
  const { rows } = await pool.query<HeldRow>(LIST, [LIST_ROWS_MAX]);
  return rows.map((row) => ({
    key: row.key,
    scope: row.scope,
    recoveryPoint: row.recovery_point,
    downstreamKey: row.downstream_key,
    outcome: row.downstream_outcome,
    tries: row.tries,
    heldSince: row.held_since,
    nextLookAt: row.next_look_at,
    // Somebody is at work on it: a request, or the reconciler.
    isLeased: row.is_leased,
    isForReview: row.tries >= triesMax,
  }));
}

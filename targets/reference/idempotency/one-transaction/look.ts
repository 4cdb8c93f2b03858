/**
 * The claim of the one-transaction way, as one statement: it looks for the record and, where there is none that
 * answers, tries the key's lock without waiting for it. What it finds decides what it was:
 *
 *   record found, or lock taken by another → the statement was all, and nothing stays of it
 *   lock taken by this one                 → it was the first of a transaction, which stays open and keeps the lock
 *
 * So a replay costs one statement, and a first use one beside its `begin`. A transaction that began before the
 * look would cost every replay a `begin` and a `rollback`; one that began after it would have to take the lock
 * in a further statement, since a lock ends with its transaction.
 */
import { createHash } from "node:crypto";
import pg, { type Connection, type PoolClient } from "pg";
import type { ClaimRow } from "../claim.ts";
import type { KeyIdentity } from "../record.ts";

/**
 * When somebody else's record may be replaced, and by no request but the same before its retention is over. Its
 * columns are those of `record`. A record that is in progress or failed is one of the two-transaction way: a
 * service can change its way while keys of the other are about.
 */
export const IS_FREE = `
  case record.state
    when 'in_progress' then record.lease_expires_at <= clock_timestamp() and record.recovery_point = 'claimed'
    when 'failed_retryable' then true
    else record.expires_at <= clock_timestamp()
  end
  and (record.request_hash = $3 or record.expires_at <= clock_timestamp())`;

/**
 * A `case` and not an `and`: only it promises that the lock is not tried where the record decides.
 *
 * From PostgreSQL 17 on the whole transaction may take as long as a lease: the limit for standing still (pool.ts)
 * begins with the first answer that says "in transaction", and this statement's does not. In between a process
 * that is stopped would keep its lock.
 */
const LOOK = `
  with found as materialized (
    select fencing_token, request_hash, state, recovery_point, response_status, response_headers, response_body,
      (extract(epoch from lease_expires_at - clock_timestamp()) * 1000)::float8 as lease_left_ms,
      expires_at <= clock_timestamp() as is_expired, ${IS_FREE} as is_free
    from idempotency_keys as record where scope = $1 and key = $2
  ), tried as materialized (
    select case when coalesce((select is_free from found), true) then pg_try_advisory_xact_lock($4) end as claimed
  )
  select found.*, claimed,
    case when claimed and current_setting('server_version_num')::int >= 170000
      then set_config('transaction_timeout', $5, true) end as timeout
  from tried left join found on true`;

/** `claimed` is null where the record decides, false where another transaction has the lock. */
export type Look =
  | (Omit<ClaimRow, "claimed"> & { readonly claimed: null })
  | { readonly claimed: false }
  | { readonly claimed: true; readonly fencing_token: string | null };

/** Leaves the client in a transaction if, and only if, the key was claimed. */
export function look(client: PoolClient, identity: KeyIdentity, requestHash: string, leaseMs: number): Promise<Look> {
  const { scope, key } = identity;
  const values = [scope, key, requestHash, String(lockOf(identity)), String(leaseMs)];
  return new Promise((resolve, reject) => {
    const query = client.query(new LookThenBegin(values));
    let found: Look | undefined;
    query.on("row", (row: Look) => {
      found = row;
    });
    query.on("end", () => {
      if (found === undefined) reject(new Error("The look at a key gave no row"));
      else resolve(found);
    });
    query.on("error", reject);
  });
}

/**
 * 64 bits of SHA-256 over scope and key. Two keys with the same bits: while one is in flight the other gets a
 * conflict that is not true, is told to come back in a second, and then has its turn. That costs nobody an
 * effect or an answer: the lock decides no more than who has to wait, and the records are found by scope and
 * key. It happens to one request in 2^64 for each that is in flight, and cannot be brought about on purpose as
 * it could with a hash that is made for tables.
 */
export function lockOf({ scope, key }: KeyIdentity): bigint {
  return createHash("sha256")
    .update(JSON.stringify([scope, key]))
    .digest()
    .readBigInt64BE();
}

/** Asked for in portions a statement is sent without the end of its transaction; more than there are, so that one is enough. */
const ROWS = 2;

/** What `pg` calls on the query that is under way; its types leave it out. */
interface QueryInternals {
  handleCommandComplete(message: unknown, connection: Pick<Connection, "sync">): void;
  handleError(error: Error, connection: Connection): void;
}

const BaseQuery = pg.Query as unknown as new (config: object) => pg.Query & QueryInternals;

/**
 * In the protocol a statement outside of a transaction block is in one of its own, which ends with the message
 * Sync. A `begin` instead of it makes the block of it. (Queries and their `rows` are the documented ones of `pg`;
 * when to send Sync is theirs, too.)
 */
class LookThenBegin extends BaseQuery {
  #hasClaimed = false;
  #isSynced = false;

  constructor(values: readonly unknown[]) {
    super({ text: LOOK, values, rows: ROWS });
    this.on("row", ({ claimed }: Look) => {
      this.#hasClaimed = claimed === true;
    });
  }

  /** Of the look, and then of the `begin`, which needs no Sync. */
  override handleCommandComplete(message: unknown, connection: Connection): void {
    super.handleCommandComplete(message, { sync: () => this.#goOn(connection) });
  }

  override handleError(error: Error, connection: Connection): void {
    if (!this.#isSynced && connection.stream.writable) connection.sync();
    this.#isSynced = true;
    super.handleError(error, connection);
  }

  #goOn(connection: Connection): void {
    if (this.#isSynced) return;
    this.#isSynced = true;
    if (this.#hasClaimed) connection.query("begin");
    else connection.sync();
  }
}

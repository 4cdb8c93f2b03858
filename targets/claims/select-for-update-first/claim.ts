/**
 * The claim by a look that locks: the record is read `for update`, and inserted where there is none.
 *
 * What differs from the reference: a first use costs three statements more, a replay two, and it writes, since a
 * row's lock is written into the row. Where there is no row there is nothing to lock: between first uses it is the
 * unique key that decides, here as everywhere. Where there is one, a look that waits for the lock waits for a
 * completion that is under way, or has stopped: with one connection each, a few duplicates could hold up every
 * other key. This one does not wait, and where the lock is taken it reads the record as it is.
 */
import type { Pool } from "pg";
import type { ClaimResult } from "../../reference/idempotency/claim.ts";
import type { Durations, KeyIdentity } from "../../reference/idempotency/record.ts";
import { claimApart, hasCode, insert, look, UNIQUE_VIOLATION } from "../statements.ts";

/** The row is locked by somebody else. */
const LOCK_NOT_AVAILABLE = "55P03";

/** Each repetition means that another claim was committed or cleaned away meanwhile. */
const TRIES = 10;

export async function selectForUpdateFirst(
  pool: Pool,
  identity: KeyIdentity,
  requestHash: string,
  durations: Durations,
): Promise<ClaimResult> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      return await claimApart(pool, "begin", async (transaction) => {
        const found = await look(transaction, identity, "for update nowait");
        return found ?? { won: true, claim: await insert(transaction, identity, requestHash, durations) };
      });
    } catch (error) {
      if (!hasCode(error, UNIQUE_VIOLATION, LOCK_NOT_AVAILABLE)) throw error;
    }
    const found = await look(pool, identity);
    if (found !== null) return found;
  }
  throw new Error(`The key was claimed and removed ${TRIES} times in a row`);
}

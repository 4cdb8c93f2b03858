/**
 * The claim by an insert whose failure is caught: the unique key raises 23505 for every duplicate, and what was
 * there is then looked up.
 *
 * What differs from the reference (`on conflict do nothing`): a duplicate costs two statements instead of one. The
 * row that it tried to insert stays behind dead, with a transaction id used up, and the server logs an error: a
 * replay writes as much as a first claim does.
 */
import type { Pool } from "pg";
import type { ClaimResult } from "../../reference/idempotency/claim.ts";
import type { Durations, KeyIdentity } from "../../reference/idempotency/record.ts";
import { hasCode, insert, look, UNIQUE_VIOLATION } from "../statements.ts";

/** Each repetition means that the record was cleaned away between insert and look. */
const TRIES = 10;

export async function insertAndCatch(
  pool: Pool,
  identity: KeyIdentity,
  requestHash: string,
  durations: Durations,
): Promise<ClaimResult> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      return { won: true, claim: await insert(pool, identity, requestHash, durations) };
    } catch (error) {
      if (!hasCode(error, UNIQUE_VIOLATION)) throw error;
    }
    const found = await look(pool, identity);
    if (found !== null) return found;
  }
  throw new Error(`The key was claimed and removed ${TRIES} times in a row`);
}

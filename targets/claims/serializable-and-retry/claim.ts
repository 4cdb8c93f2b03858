/**
 * The claim in a serializable transaction: look, insert where there is nothing, and begin anew when PostgreSQL finds
 * that this would not have been right one after the other.
 *
 * What differs from the reference: a first use costs three statements more and a replay two, and every repetition
 * as many again. Repetitions are not for duplicates only: what a look has read is remembered by page, so that
 * claims of different keys abort one another while they share one, all the more in a small table.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Pool } from "pg";
import type { ClaimResult } from "../../reference/idempotency/claim.ts";
import type { Durations, KeyIdentity } from "../../reference/idempotency/record.ts";
import { claimApart, hasCode, insert, look, UNIQUE_VIOLATION } from "../statements.ts";

const BEGIN = "begin isolation level serializable";

const SERIALIZATION_FAILURE = "40001";
const DEADLOCK_DETECTED = "40P01";

/** Of any number at once one commits; so a burst of fifty is through after fifty rounds at the latest. */
const TRIES = 100;
/** Those who have failed together shall not begin together again. */
const PAUSE_MS_MAX = 20;

export async function serializableAndRetry(
  pool: Pool,
  identity: KeyIdentity,
  requestHash: string,
  durations: Durations,
): Promise<ClaimResult> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      return await claimApart(pool, BEGIN, async (transaction) => {
        const found = await look(transaction, identity);
        return found ?? { won: true, claim: await insert(transaction, identity, requestHash, durations) };
      });
    } catch (error) {
      // Even here the unique key can be what notices first.
      if (!hasCode(error, SERIALIZATION_FAILURE, DEADLOCK_DETECTED, UNIQUE_VIOLATION)) throw error;
    }
    await sleep(Math.random() * PAUSE_MS_MAX);
  }
  throw new Error(`The claim could not be put in order with others ${TRIES} times in a row`);
}

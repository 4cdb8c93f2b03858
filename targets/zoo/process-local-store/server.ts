/**
 * Defect: the records are kept in the process. Within it the lifecycle is complete; a retry that reaches
 * another replica, or the same one after a restart, finds nothing and executes again.
 *
 * In the wild: the default "memory" store of many key middlewares, meant for development and shipped.
 *
 * Why it looks right: on one process it is right, and so it is on the author's machine and in the tests. It
 * is even free of races, since nothing comes between the look and the claim.
 */
import type { ClaimResult } from "../../reference/idempotency/claim.ts";
import { ClaimLost, inTransaction } from "../../reference/idempotency/complete.ts";
import type { Steps } from "../../reference/idempotency/plugin.ts";
import type { Claim, Durations, KeyIdentity, KeyRecord, StoredAnswer } from "../../reference/idempotency/record.ts";
import { serve } from "../../reference/serve.ts";

interface Entry {
  readonly token: string;
  readonly requestHash: string;
  readonly expiresAt: number;
  readonly leaseExpiresAt: number;
  /** Nobody takes over while the commit is on its way. */
  isCommitting: boolean;
  state: KeyRecord["state"];
  answer: StoredAnswer | null;
}

const entries = new Map<string, Entry>();
let claims = 0;

function idOf({ scope, key }: KeyIdentity): string {
  return JSON.stringify([scope, key]);
}

function hold(identity: KeyIdentity, requestHash: string, durations: Durations): Claim {
  claims += 1;
  const now = performance.now();
  const entry: Entry = {
    token: String(claims),
    requestHash,
    expiresAt: now + durations.retentionMs,
    leaseExpiresAt: now + durations.leaseMs,
    isCommitting: false,
    state: "in_progress",
    answer: null,
  };
  entries.set(idOf(identity), entry);
  return { ...identity, fencingToken: entry.token };
}

/** The entry, as long as this claim holds it. */
function heldBy(claim: Claim): Entry | null {
  const entry = entries.get(idOf(claim));
  return entry?.state === "in_progress" && entry.token === claim.fencingToken ? entry : null;
}

function leaseLeftMs({ leaseExpiresAt, isCommitting }: Entry): number {
  const left = leaseExpiresAt - performance.now();
  return isCommitting ? Math.max(left, 1) : left;
}

function isLive(entry: Entry): boolean {
  return entry.state === "in_progress" && leaseLeftMs(entry) > 0;
}

function claim(identity: KeyIdentity, requestHash: string, durations: Durations): ClaimResult {
  const entry = entries.get(idOf(identity));
  if (entry === undefined) return { won: true, claim: hold(identity, requestHash, durations) };
  return {
    won: false,
    record: {
      requestHash: entry.requestHash,
      state: entry.state,
      fencingToken: entry.token,
      leaseLeftMs: leaseLeftMs(entry),
      isExpired: entry.expiresAt <= performance.now(),
      answer: entry.answer,
    },
  };
}

/** Null: another attempt of this process was faster, or the holder finished meanwhile. */
function takeOver(identity: KeyIdentity, seen: KeyRecord, requestHash: string, durations: Durations): Claim | null {
  const entry = entries.get(idOf(identity));
  const isAsSeen = entry?.token === seen.fencingToken && entry.state === seen.state;
  if (!isAsSeen || isLive(entry)) return null;
  return hold(identity, requestHash, durations);
}

const complete: Steps["complete"] = async (pool, held, effect) => {
  const answer = await inTransaction(pool, async (transaction) => {
    const done = await effect(transaction);
    const entry = heldBy(held);
    if (entry === null) throw new ClaimLost();
    entry.isCommitting = true;
    return done;
  });
  const entry = heldBy(held);
  if (entry !== null) Object.assign(entry, { state: "completed", answer });
  return answer;
};

function release(held: Claim): void {
  const entry = heldBy(held);
  if (entry !== null) Object.assign(entry, { state: "failed_retryable", isCommitting: false });
}

function cleanUp(): number {
  const now = performance.now();
  let removed = 0;
  for (const [id, entry] of entries) {
    if (entry.expiresAt > now || isLive(entry)) continue;
    entries.delete(id);
    removed += 1;
  }
  return removed;
}

await serve({
  claim: async (_pool, identity, requestHash, durations) => claim(identity, requestHash, durations),
  takeOver: async (_pool, identity, seen, requestHash, durations) => takeOver(identity, seen, requestHash, durations),
  complete,
  fail: async (_pool, held) => release(held),
  cleanUp: async () => cleanUp(),
});

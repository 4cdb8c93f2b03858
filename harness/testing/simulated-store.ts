/**
 * The key records of the simulated server. Every function is one atomic statement: what a database decides
 * by its unique key, its row locks and its clock.
 */
import type { Micros } from "../operation.ts";
import { Bell } from "./virtual-time.ts";

export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface KeyIdentity {
  readonly scope: string;
  readonly key: string;
}

/** What a claimer brings along. */
export interface Claiming extends KeyIdentity {
  readonly fingerprint: string;
  readonly body: string;
  readonly leaseUntil: Micros;
  readonly expiresAt: Micros;
}

/** What a holder shows when it completes or releases. */
export interface Claim extends KeyIdentity {
  readonly token: number;
}

export interface StoredRecord extends Claiming {
  readonly state: "in_progress" | "completed" | "failed_retryable";
  readonly token: number;
  readonly claimedAt: Micros;
  readonly completedAt: Micros | null;
  readonly answer: StoredAnswer | null;
}

export class SimulatedStore {
  /** Earliest expiry first: a record that is claimed anew goes to the end. */
  readonly #records = new Map<string, StoredRecord>();
  /** Rows that a transaction has changed and not yet committed. */
  readonly #locked = new Set<string>();
  readonly unlocked = new Bell();

  get records(): Iterable<StoredRecord> {
    return this.#records.values();
  }

  find(identity: KeyIdentity): StoredRecord | null {
    return this.#records.get(nameOf(identity)) ?? null;
  }

  isLocked(identity: KeyIdentity): boolean {
    return this.#locked.has(nameOf(identity));
  }

  /** `insert … on conflict do nothing`: the new claim, or the record that is there. */
  claim(claiming: Claiming, now: Micros): { readonly claim: Claim } | { readonly seen: StoredRecord } {
    const seen = this.find(claiming);
    return seen === null ? { claim: this.put(claiming, 1, now) } : { seen };
  }

  /** Inserts or overwrites, whoever holds the record. */
  put(claiming: Claiming, token: number, now: Micros): Claim {
    const { scope, key } = claiming;
    const name = nameOf(claiming);
    this.#records.delete(name);
    const record = {
      ...claiming,
      state: "in_progress",
      token,
      claimedAt: now,
      completedAt: null,
      answer: null,
    } as const;
    this.#records.set(name, record);
    return { scope, key, token };
  }

  /** The conditional takeover; null when another attempt was faster or the holder finished. */
  takeOver(claiming: Claiming, seenToken: number, now: Micros): Claim | null {
    const record = this.find(claiming);
    if (record === null || record.token !== seenToken || !isFree(record, now)) return null;
    return this.put(claiming, seenToken + 1, now);
  }

  /** Changes the row inside a transaction: from here to `unlock` all other changes of it wait. */
  lock(identity: KeyIdentity): void {
    this.#locked.add(nameOf(identity));
  }

  unlock(identity: KeyIdentity): void {
    this.#locked.delete(nameOf(identity));
    this.unlocked.ring();
  }

  isHeldBy({ token, ...identity }: Claim): boolean {
    const record = this.find(identity);
    return record?.state === "in_progress" && record.token === token;
  }

  change(identity: KeyIdentity, change: Partial<StoredRecord>): void {
    const record = this.find(identity);
    if (record !== null) this.#records.set(nameOf(identity), { ...record, ...change });
  }

  remove(identity: KeyIdentity): void {
    this.#records.delete(nameOf(identity));
  }

  /** Removes what is past its retention and held by nobody; rows under a lock are left for the next time. */
  cleanUp(now: Micros): void {
    for (const [name, record] of this.#records) {
      if (record.expiresAt > now) return;
      const isHeld = record.state === "in_progress" && record.leaseUntil > now;
      if (!isHeld && !this.#locked.has(name)) this.#records.delete(name);
    }
  }

  /** Removes claims older than a limit, whoever still works on them. */
  dropClaimsBefore(limit: Micros): void {
    for (const [name, { state, claimedAt }] of this.#records) {
      if (state === "in_progress" && claimedAt < limit) this.#records.delete(name);
    }
  }
}

function isFree({ state, leaseUntil, expiresAt }: StoredRecord, now: Micros): boolean {
  switch (state) {
    case "in_progress":
      return leaseUntil <= now;
    case "failed_retryable":
      return true;
    case "completed":
      return expiresAt <= now;
  }
}

function nameOf({ scope, key }: KeyIdentity): string {
  return `${scope} ${key}`;
}

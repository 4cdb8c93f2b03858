/** Every way to keep key records, so that one suite proves them all. */
import { claimKey } from "../idempotency/claim.ts";
import { complete } from "../idempotency/complete.ts";
import type { Steps } from "../idempotency/plugin.ts";
import { release } from "../idempotency/release.ts";

export interface Store {
  readonly table: string;
  readonly steps: Partial<Steps>;
  readonly claim: Steps["claim"];
  readonly complete: Steps["complete"];
  readonly release: typeof release;
}

export const stores: readonly Store[] = [{ table: "idempotency_keys", steps: {}, claim: claimKey, complete, release }];

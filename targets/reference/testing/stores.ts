/** Every way to keep key records, so that one suite proves them all. */
import { claimKey } from "../idempotency/claim.ts";
import { cleanUp } from "../idempotency/clean-up.ts";
import { complete } from "../idempotency/complete.ts";
import { type PartitionedSteps, partitionedSteps } from "../idempotency/partitioned/steps.ts";
import { release } from "../idempotency/release.ts";
import { takeOver } from "../idempotency/take-over.ts";

export interface Store {
  readonly table: string;
  readonly steps: PartitionedSteps;
}

/** The shortest there is, so that a test sees partitions come and go. */
const PERIOD_MS = 1_000;

export const stores: readonly Store[] = [
  {
    table: "idempotency_keys",
    steps: {
      claim: claimKey,
      takeOver,
      complete,
      fail: (pool, claim) => release(pool, claim),
      cleanUp: (pool, signal) => cleanUp(pool, { signal }),
    },
  },
  { table: "idempotency_keys_by_time", steps: partitionedSteps(PERIOD_MS) },
];

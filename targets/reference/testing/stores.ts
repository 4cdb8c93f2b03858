/** Every way to claim keys and to keep their records, so that one suite proves them all. */
import { claimKey } from "../idempotency/claim.ts";
import { cleanUp } from "../idempotency/clean-up.ts";
import { complete } from "../idempotency/complete.ts";
import { oneTransactionSteps } from "../idempotency/one-transaction/steps.ts";
import { type PartitionedSteps, partitionedSteps } from "../idempotency/partitioned/steps.ts";
import { release } from "../idempotency/release.ts";
import { takeOver } from "../idempotency/take-over.ts";

export interface Store {
  readonly name: string;
  readonly table: string;
  /** Is a claim a record with a lease, or is it seen by nobody before it is completed? */
  readonly hasLease: boolean;
  readonly steps: PartitionedSteps;
}

/** The shortest there is, so that a test sees partitions come and go. */
const PERIOD_MS = 1_000;

const cleanUpTable: PartitionedSteps["cleanUp"] = (pool, signal) => cleanUp(pool, { signal });

export const stores: readonly Store[] = [
  {
    name: "the keys in one table",
    table: "idempotency_keys",
    hasLease: true,
    steps: {
      claim: claimKey,
      takeOver,
      complete,
      fail: (pool, claim) => release(pool, claim),
      cleanUp: cleanUpTable,
    },
  },
  {
    name: "the keys in partitions",
    table: "idempotency_keys_by_time",
    hasLease: true,
    steps: partitionedSteps(PERIOD_MS),
  },
  {
    name: "one transaction",
    table: "idempotency_keys",
    hasLease: false,
    steps: { ...oneTransactionSteps, cleanUp: cleanUpTable },
  },
];

/** The steps of the lifecycle that differ when the key records lie in partitions; all others are the same. */
import type { Steps } from "../plugin.ts";
import { claimPartitionedKey } from "./claim.ts";
import { completePartitioned } from "./complete.ts";
import { createPartitions, dropPartitions } from "./partitions.ts";
import { releasePartitioned } from "./release.ts";
import { takeOverPartitionedKey } from "./take-over.ts";

export type PartitionedSteps = Pick<Steps, "claim" | "takeOver" | "complete" | "fail" | "cleanUp">;

export function partitionedSteps(periodMs: number): PartitionedSteps {
  return {
    claim: (pool, ...given) => claimPartitionedKey(pool, periodMs, ...given),
    takeOver: (pool, ...given) => takeOverPartitionedKey(pool, periodMs, ...given),
    complete: completePartitioned,
    fail: (pool, claim) => releasePartitioned(pool, claim),
    cleanUp: async (pool) => {
      await createPartitions(pool, periodMs);
      return dropPartitions(pool);
    },
  };
}

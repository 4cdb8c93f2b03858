/**
 * What a bench tells apart: the same business operation without the key layer, and in each situation that the
 * layer knows. All are interleaved in one run, so that whatever disturbs the machine disturbs all of them.
 */

/** `again` is a second helping of what the others are compared with: its difference must be none (A/A). */
export const BENCH_CLASSES = ["baseline", "again", "first-use", "replay", "conflict", "mismatch"] as const;
export type BenchClass = (typeof BENCH_CLASSES)[number];

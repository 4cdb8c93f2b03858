/** The part of a bench's report that says how requests feel the removal of expired records. */
import { z } from "zod";

/** Of first uses, from their intended starts, in microseconds; null where there are too few for it. */
const tail = z.strictObject({
  samples: z.int(),
  p50: z.number().nullable(),
  p99: z.number().nullable(),
  "p99.9": z.number().nullable(),
  max: z.number().nullable(),
  /** How long it was measured. */
  ms: z.number(),
});

export const cleanupSchema = z.strictObject({
  /** Records that were put there, all to expire at one moment. */
  expired: z.int(),
  /** How many of them the target's own cleanup had removed at the end. */
  removed: z.int(),
  /** From that moment until the last was gone; null: some were still there when the wait was over. */
  tookMs: z.number().nullable(),
  /** Requests in a second. */
  rate: z.number(),
  /** With all records there, and none of them expired. */
  before: tail,
  /** From that moment on, for as long as it took, and no shorter than `before`. */
  during: tail,
  /** Without an answer, or with another one than theirs. */
  others: z.int(),
  /** So many were in flight that no more were sent. */
  isOverrun: z.boolean(),
  /** How late the generator was, at p99. */
  lateMicros: z.number(),
});

export type CleanupReport = z.output<typeof cleanupSchema>;
export type Tail = z.output<typeof tail>;

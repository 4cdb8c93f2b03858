/** The finished report of a bench: all that its reporters may see. Its JSON is a published format. */
import { z } from "zod";
import { BENCH_CLASSES } from "./bench-class.ts";
import { cleanupSchema } from "./cleanup-report.ts";
import { PACES } from "./schedule.ts";
import { storageSchema, volumeSchema } from "./storage-report.ts";

/** A figure with its 95 % interval. */
const estimate = z.strictObject({ value: z.number(), low: z.number(), high: z.number() });

export const QUANTILES = ["p50", "p90", "p99", "p99.9"] as const;
export type Quantile = (typeof QUANTILES)[number];
export const SHARES: Readonly<Record<Quantile, number>> = { p50: 0.5, p90: 0.9, p99: 0.99, "p99.9": 0.999 };
/** A quantile of fewer samples is that of a handful of them. */
export const SAMPLES_MIN: Readonly<Record<Quantile, number>> = { p50: 2, p90: 10, p99: 100, "p99.9": 10_000 };

const figure = z.strictObject({
  quantile: z.enum(QUANTILES),
  /** Microseconds from the intended start to the end of the answer. */
  absolute: estimate,
  /** Microseconds more than what it is compared with; null where there is nothing, or too little of it. */
  difference: estimate.nullable(),
  ratio: estimate.nullable(),
});

export const COSTS = [
  "statements",
  "round-trips",
  "commits",
  "wal-bytes",
  "row-bytes",
  "index-bytes",
  "dead-rows",
  "redis-commands",
] as const;
export type Cost = (typeof COSTS)[number];

const costs = z.partialRecord(z.enum(COSTS), z.number());

const benchClass = z.strictObject({
  class: z.enum(BENCH_CLASSES),
  /** Why it was not measured, or null. */
  left: z.string().nullable(),
  samples: z.int(),
  /** Answered otherwise than the class is about; judged, and not measured. */
  strayed: z.int(),
  unanswered: z.int(),
  /** Not sent, since no key was there that it could have used. */
  impossible: z.int(),
  /** Those for which there are enough samples. */
  figures: z.array(figure),
  maxMicros: z.number().nullable(),
  /** Shares of all, and the microseconds that they do not exceed. */
  curve: z.array(z.tuple([z.number(), z.number()])),
  /** HdrHistogram, V2, compressed, base64; microseconds. */
  histogram: z.string().nullable(),
  /** Of one request; null where they were not measured. */
  costs: costs.nullable(),
  /** Of what it is compared with. */
  costsOfReference: costs.nullable(),
});

const verdict = z.enum(["pass", "fail", "inconclusive", "skip"]);

const benchTarget = z.strictObject({
  target: z.string(),
  operation: z.string(),
  contract: z.string(),
  comparedWith: z.enum(["baseline", "replay"]),
  /** Of the invariants on the history of all its requests. */
  verdict,
  reasons: z.array(z.string()),
  violations: z.array(z.strictObject({ invariant: z.string(), count: z.int(), message: z.string() })),
  attempts: z.int(),
  /** Where that history is, relative to this report. */
  history: z.string(),
  /** Does the interval of A/A at p50 hold zero? Null: it was not asked for, or could not be told. */
  againHoldsZero: z.boolean().nullable(),
  classes: z.array(benchClass),
  /** Why exact costs are not there, or what they leave out; null: nothing to say. */
  costsNote: z.string().nullable(),
  /** What key records take on disk; null: not measured. */
  storage: storageSchema.nullable(),
  /** Why it was not, or null. */
  storageNote: z.string().nullable(),
  /** How the removal of expired records is felt; null: not asked for, or not measured. */
  cleanup: cleanupSchema.nullable(),
  /** Why it was not, or null. */
  cleanupNote: z.string().nullable(),
});

const threshold = z.strictObject({
  text: z.string(),
  target: z.string(),
  result: z.enum(["met", "missed", "unknown"]),
  reason: z.string(),
});

export const benchSchema = z.strictObject({
  format: z.literal(1),
  /** `missed`: nothing was violated and all was measured, and a threshold was missed. */
  result: z.enum(["pass", "fail", "inconclusive", "missed"]),
  reasons: z.array(z.string()),
  version: z.string(),
  command: z.string(),
  startedAt: z.string(),
  durationMs: z.number(),
  seed: z.number(),
  load: z.strictObject({
    /** Requests in a second, of all targets together. */
    rate: z.number(),
    durationMs: z.number(),
    pace: z.enum(PACES),
    blocks: z.int(),
  }),
  machine: z.strictObject({
    processors: z.int(),
    model: z.string(),
    memoryBytes: z.number(),
    system: z.string(),
    node: z.string(),
  }),
  generator: z.strictObject({
    started: z.int(),
    notStarted: z.int(),
    mostInFlight: z.int(),
    lateMicros: z.strictObject({ p50: z.number(), p99: z.number(), max: z.number() }),
    /** At p99; beyond it the bench is inconclusive. */
    lateMicrosMax: z.number(),
  }),
  /** What the projections of storage are made for. */
  volume: volumeSchema,
  targets: z.array(benchTarget),
  thresholds: z.array(threshold),
});

export type BenchReport = z.output<typeof benchSchema>;
export type BenchTarget = z.output<typeof benchTarget>;
export type ClassReport = z.output<typeof benchClass>;
export type Estimated = z.output<typeof estimate>;
export type ThresholdResult = z.output<typeof threshold>;

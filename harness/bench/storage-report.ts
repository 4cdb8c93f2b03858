/** The part of a bench's report that says what its key records take on disk. */
import { z } from "zod";

/** Of one record, on average over those that were measured. */
const recordBytes = z.strictObject({
  answer: z.enum(["small", "large"]),
  /** How many were measured. */
  records: z.int(),
  /** Of the answer's body. */
  body: z.number(),
  /** As a full page holds it, without room for dead rows. */
  row: z.number(),
  /** What was too long for the row and lies aside (TOAST), with its index. */
  toast: z.number(),
  index: z.number(),
});

/** What becomes of the room of records whose time is over. */
const cycle = z.strictObject({
  /** Share of the bytes that were still there when the target's own cleanup had removed all records, before any vacuum. */
  keptShare: z.number(),
  /** Bytes with as many records again, after a vacuum, over those of the first time. */
  regrowth: z.number(),
  /** Share of rows that may be dead before the database sweeps up by itself (autovacuum_vacuum_scale_factor). */
  deadShare: z.number(),
});

const moment = z.strictObject({
  day: z.number(),
  tableBytes: z.number(),
  indexBytes: z.number(),
  bloatBytes: z.number(),
  naiveBytes: z.number(),
});

const projection = z.strictObject({
  answer: z.enum(["small", "large"]),
  /** That are there at once. */
  records: z.number(),
  perDayBytes: z.number(),
  tableBytes: z.number(),
  indexBytes: z.number(),
  bloatBytes: z.number(),
  /** Of all three: what it takes from the end of the first retention on. */
  plateauBytes: z.number(),
  /** Records times the bytes of an answer's body. */
  naiveBytes: z.number(),
  /** Corners of the curve; straight lines lead from one to the next. */
  overTime: z.array(moment),
});

export const storageSchema = z.strictObject({
  /** That the query of `records` reads. */
  tables: z.array(z.string()),
  /** In so many tables lay the records of one size: partitions, where there are more than were read. */
  parts: z.int(),
  sizes: z.array(recordBytes),
  /** Why there are no large answers, or null. */
  largeLeft: z.string().nullable(),
  cycle: cycle.nullable(),
  /** Why the cleanup was not looked at, or null. */
  cycleLeft: z.string().nullable(),
  projections: z.array(projection),
});

/** What a projection is made for. */
export const volumeSchema = z.strictObject({ perDay: z.number(), retentionDays: z.number(), isAssumed: z.boolean() });

export type StorageReport = z.output<typeof storageSchema>;
export type RecordBytes = z.output<typeof recordBytes>;
export type Cycle = z.output<typeof cycle>;
export type Projection = z.output<typeof projection>;
export type Moment = z.output<typeof moment>;
export type Volume = z.output<typeof volumeSchema>;

/**
 * How foreground requests feel the target's own cleanup: very many records are put beside the real ones, all to
 * expire at one moment. First uses are sent at a steady rate before it, when the table is as large and nothing
 * has expired, and from it on, until the last of those records is gone. The ways to clean up, such as in
 * batches, at once or by dropping partitions, are those of the targets that are measured.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Failure, messageOf } from "../fail.ts";
import { filledIn } from "../lab/names.ts";
import type { Micros } from "../operation.ts";
import type { Stage } from "../stage.ts";
import { type Quantile, SAMPLES_MIN, SHARES } from "./bench-report.ts";
import type { CleanupReport, Tail } from "./cleanup-report.ts";
import { exchange, type Generated, generate, type Lane } from "./generator.ts";
import { type ClassMeasurement, newMeasurement } from "./measurements.ts";
import { RecordTables } from "./record-tables.ts";
import { type Load, scheduleOf } from "./schedule.ts";
import type { Sender } from "./sender.ts";
import { quantile } from "./statistics.ts";
import { placeOf } from "./storage.ts";

export interface CleanupOptions {
  /** How many expired records. */
  readonly expired: number;
  readonly load: Load;
  readonly sender: Sender;
  readonly inFlightMax: number;
  readonly signal: AbortSignal;
  readonly onStep: (step: string) => void;
}

const PREFIX = "expired-";
const TRIED_RECORDS = 10;
/** Put there by one statement each, so that progress is seen and an interruption need not wait for all. */
const CHUNK_RECORDS = 50_000;
/** Put there and taken back, to tell how long it takes: the moment of expiry has to be known beforehand. */
const REHEARSED_SHARE = 0.05;
/** An index that has grown takes longer, and a machine that others use is busy at times. */
const FILL_SLOWER = 3;
/** Sweeping up after the fill, and a checkpoint. */
const SETTLE_MS = 5_000;
/** What was measured before is as long as the load, and no longer than this. */
const BEFORE_MS_MAX = 15_000;
/** A cleanup that takes longer is told as it is by then. */
const CLEANED_WITHIN_MS = 180_000;
const POLL_MS = 250;
/** Time is cut into so much, to tell before and after. */
const BLOCK_MICROS = 100_000;
/** By the database's own count there are no more of them than this: then they are counted one by one. */
const NEARLY_GONE_SHARE = 0.05;
/** So few are counted each time. */
const COUNTED_ALWAYS = 20_000;

/** The figures, or why there are none. Throws a `Failure` when the database cannot be reached. */
export async function measureCleanup(lane: Lane, options: CleanupOptions): Promise<CleanupReport | string> {
  const place = placeOf(lane.stage);
  if ("none" in place) return `the cleanup was not measured: ${place.none}`;
  const { fill } = place;
  if (fill === undefined) {
    return "the cleanup was not measured: the target file names no way to put expired records there (records.fill)";
  }
  try {
    await using tables = await RecordTables.open(place.url, place.sql);
    const prefix = `${PREFIX}${randomBytes(4).toString("hex")}-`;
    const expiry = await filled(tables, lane, { ...options, fill, prefix });
    if (expiry === null) {
      options.onStep("waiting until the records that expired too early are cleaned up");
      await gone(tables, lane.stage, { ...options, prefix });
      return "the cleanup was not measured: the records expired before all were there: this machine is busy with other things, run it again";
    }
    options.onStep(`measuring requests to ${lane.stage.target.file.name} while ${options.expired} records expire`);
    return await underCleanup(lane, tables, { ...options, prefix, expiry });
  } catch (error) {
    throw refusal(error);
  }
}

/**
 * Tries the statement of the target file, on a table that holds a record of the target's own. Throws a `Failure` when it does
 * not do what it is for: better known before the load than after it.
 */
export async function checkFill({ stage }: Lane): Promise<void> {
  const place = placeOf(stage);
  if ("none" in place || place.fill === undefined) return;
  try {
    await using tables = await RecordTables.open(place.url, place.sql);
    const statement = filling({ fill: place.fill, prefix: PREFIX }, TRIED_RECORDS, SETTLE_MS);
    const { added, found } = await tables.rehearse(statement, PREFIX);
    if (added !== TRIED_RECORDS) {
      throw new Failure("usage", `records.fill: found ${added} record(s) added, expected ${TRIED_RECORDS} (\${count})`);
    }
    if (found !== added) {
      throw new Failure(
        "usage",
        `records.fill: found ${found} of ${added} records in the query of \`records\`, expected all, with keys that begin with \${prefix}`,
      );
    }
  } catch (error) {
    throw refusal(error);
  }
}

function refusal(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  const words = `records.fill: found a statement that PostgreSQL refuses (${messageOf(error)}), expected one that adds records`;
  return new Failure("usage", words, { cause: error });
}

interface Fill extends CleanupOptions {
  readonly fill: string;
  readonly prefix: string;
}

/** Puts the records there. Gives the moment at which they expire, on the clock of the stage; null: it was too early. */
async function filled(tables: RecordTables, lane: Lane, options: Fill): Promise<Micros | null> {
  const { expired, signal, onStep } = options;
  const { stage } = lane;
  const rehearsed = Math.ceil(expired * REHEARSED_SHARE);
  const statement = (count: number, inMs: number): string => filling(options, count, inMs);
  await answered(lane, options.sender);
  const { ms: rehearsalMs } = await tables.rehearse(statement(rehearsed, SETTLE_MS), options.prefix);
  await tables.vacuum();
  const inMs = (rehearsalMs / REHEARSED_SHARE) * FILL_SLOWER + SETTLE_MS + beforeMsOf(options.load);
  const expiry = stage.now() + inMs * 1000;
  await answered(lane, options.sender);
  for (let added = 0; added < expired; ) {
    signal.throwIfAborted();
    onStep(`putting records into ${tables.names.join(", ")} that will expire: ${added} of ${expired}`);
    const count = Math.min(CHUNK_RECORDS, expired - added);
    await tables.add(statement(count, (expiry - stage.now()) / 1000));
    added += count;
    if (stage.now() > expiry) return null;
  }
  await tables.settle();
  return expiry;
}

function filling({ fill, prefix }: Pick<Fill, "fill" | "prefix">, count: number, inMs: number): string {
  const expiresAt = new Date(Date.now() + inMs).toISOString();
  return filledIn(fill, { count: String(count), prefix, expiresAt });
}

/** A record of the target's own, which the statement may copy: the ones from before may have expired. */
async function answered(lane: Lane, sender: Sender): Promise<void> {
  const plan = lane.traffic.plan("first-use", lane.stage.now(), null);
  if (plan !== null) await exchange(lane, lane.traffic.builder.build(plan), sender);
}

function beforeMsOf({ durationMs }: Load): number {
  return Math.min(durationMs, BEFORE_MS_MAX);
}

interface Cleaning extends CleanupOptions {
  readonly prefix: string;
  readonly expiry: Micros;
}

/** Too late a fill leaves less time before the expiry, or none: that is then in the number of samples. */
async function underCleanup(lane: Lane, tables: RecordTables, options: Cleaning): Promise<CleanupReport> {
  const { stage } = lane;
  const { expiry, load, signal } = options;
  const beforeMs = beforeMsOf(load);
  await sleep(Math.max(0, (expiry - stage.now()) / 1000 - beforeMs), undefined, { signal });
  const began = stage.now();
  const measurement = newMeasurement();
  const over = new AbortController();
  const watched = watch(tables, stage, options).finally(() => over.abort());
  // Its failure is thrown below, when nothing is in flight any more.
  watched.catch(() => undefined);
  const generated = await sending(lane, measurement, began, AbortSignal.any([signal, over.signal]), options);
  const goneAt = await watched;
  const left = goneAt === null ? await tables.countFrom(options.prefix) : 0;
  return reportOf(measurement, generated, { ...options, began, end: stage.now(), goneAt, left });
}

function sending(
  lane: Lane,
  measurement: ClassMeasurement,
  began: Micros,
  signal: AbortSignal,
  { load, expiry, sender, inFlightMax }: Cleaning,
): Promise<Generated> {
  const durationMs = (expiry - began) / 1000 + CLEANED_WITHIN_MS;
  const slots = scheduleOf([{ target: 0, class: "first-use" }], { ...load, durationMs });
  const starts = slots.map((slot) => ({
    at: slot.at,
    slot: { ...slot, block: Math.floor(slot.at / BLOCK_MICROS) },
    target: 0,
    holder: null,
  }));
  const measurements = new Map([["first-use", measurement]] as const);
  return generate(starts, [{ ...lane, measurements }], { sender, inFlightMax, signal, onStart: () => undefined });
}

/** When the last was gone; null: they were not within the limit. Comes back when enough was measured, too. */
async function watch(tables: RecordTables, stage: Stage, options: Cleaning): Promise<Micros | null> {
  const until = async (moment: Micros): Promise<void> =>
    void (await sleep(Math.max(0, moment - stage.now()) / 1000, undefined, { signal: options.signal }));
  await until(options.expiry);
  const goneAt = await gone(tables, stage, options);
  await until(options.expiry + beforeMsOf(options.load) * 1000);
  return goneAt;
}

type Looked = Pick<Cleaning, "expired" | "prefix" | "signal">;

/** Looks until the last is gone, and gives the moment; null: the wait was over before. */
async function gone(tables: RecordTables, stage: Stage, { expired, prefix, signal }: Looked): Promise<Micros | null> {
  const end = stage.now() + CLEANED_WITHIN_MS * 1000;
  for (; stage.now() < end; await sleep(POLL_MS, undefined, { signal })) {
    if (expired > COUNTED_ALWAYS && (await tables.liveRows()) > expired * NEARLY_GONE_SHARE) continue;
    if ((await tables.countFrom(prefix)) === 0) return stage.now();
  }
  return null;
}

interface Window {
  readonly began: Micros;
  readonly end: Micros;
  readonly goneAt: Micros | null;
  readonly left: number;
}

function reportOf(
  measurement: ClassMeasurement,
  { lateness, isOverrun }: Generated,
  given: Cleaning & Window,
): CleanupReport {
  const { expired, expiry, began, end, goneAt, left, load } = given;
  const turn = Math.ceil((expiry - began) / BLOCK_MICROS);
  return {
    expired,
    removed: expired - left,
    tookMs: goneAt === null ? null : (goneAt - expiry) / 1000,
    rate: load.rate,
    before: tailOf(measurement, (block) => block < turn, (expiry - began) / 1000),
    during: tailOf(measurement, (block) => block >= turn, (end - expiry) / 1000),
    others: measurement.strayed + measurement.unanswered,
    isOverrun,
    lateMicros: lateness.p99,
  };
}

function tailOf({ values, blocks }: ClassMeasurement, isIn: (block: number) => boolean, ms: number): Tail {
  const sorted = values.filter((_, index) => isIn(blocks[index] ?? 0)).sort((one, other) => one - other);
  const at = (name: Quantile): number | null =>
    sorted.length < SAMPLES_MIN[name] ? null : quantile(sorted, SHARES[name]);
  return {
    samples: sorted.length,
    p50: at("p50"),
    p99: at("p99"),
    "p99.9": at("p99.9"),
    max: sorted.at(-1) ?? null,
    ms: Math.max(0, Math.round(ms)),
  };
}

/**
 * What a key record takes on disk, measured and not guessed: real first uses with small and with large answers,
 * and by how much the tables of the key records grew. Then, where the retention is short enough to be waited for,
 * a whole cycle: what the target's own cleanup leaves, and what it takes to fill that again. Every request is
 * recorded and judged like any other.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { messageOf } from "../fail.ts";
import type { Micros } from "../operation.ts";
import { redacted } from "../secrets.ts";
import type { Stage } from "../stage.ts";
import type { Contender } from "./contender.ts";
import { exchange, type Lane } from "./generator.ts";
import { type Bytes, type Held, indexGrowth, RecordTables, sumOf } from "./record-tables.ts";
import type { Sender } from "./sender.ts";
import type { Cycle, RecordBytes, StorageReport } from "./storage-report.ts";
import type { Traffic } from "./traffic.ts";

export type MeasuredStorage = Omit<StorageReport, "projections">;

/** Their indexes have some pages each by then; of the rows themselves a few would do. */
const RECORDS: Readonly<Record<Answer, number>> = { small: 600, large: 150 };
/** Fewer say more of half-filled pages than of records. */
const RECORDS_MIN = 30;
/** So that the work of a handler is not waited for again and again. */
const AT_ONCE = 12;
/** Part of the retention in which all must be there: what goes meanwhile makes room for what comes. */
const WITHIN_SHARE: Readonly<Record<Answer, number>> = { small: 0.35, large: 0.25 };
/** The same for the second time, all of them together. */
const AGAIN_SHARE = 0.9;
/** Without a retention in the contract, or with a long one, there is this much time. */
const WITHIN_MS_MAX = 10_000;
/** A longer retention is not waited for. */
const RETENTION_MS_MAX = 10_000;
/** So long after the retention a cleanup should have come by. */
const CLEANED_WITHIN_MS = 5_000;
const POLL_MS = 200;
/** An answer that is no larger than this times the small one is not what was asked for. */
const LARGER_MIN = 1.5;

type Answer = RecordBytes["answer"];

/** The figures, or why there are none. Throws a `Failure` when the database cannot be reached. */
export async function measureStorage(
  lane: Lane,
  contender: Contender,
  sender: Sender,
  onStep: (step: string) => void,
): Promise<MeasuredStorage | string> {
  const place = placeOf(lane.stage);
  if ("none" in place) return `storage was not measured: ${place.none}`;
  try {
    await using tables = await RecordTables.open(place.url, place.sql);
    if (tables.names.length === 0) return "storage was not measured: the query of `records` reads no table";
    onStep(`measuring what a key record of ${contender.target.file.name} takes on disk`);
    return await new StorageBench(lane, contender, sender, tables, onStep).measure();
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    return `storage was not measured: ${redacted(messageOf(error), lane.stage.secrets)}`;
  }
}

/** Where the records are, if it is where the lab may look at pages and sweep up. */
export function placeOf({ target, running }: Stage): { url: string; sql: string; fill?: string } | { none: string } {
  const { records, name } = target.file;
  if (records === undefined) return { none: `${name} names no key records (records)` };
  if ("http" in records) return { none: "the key records are read over HTTP, which does not tell how large they are" };
  if (records.on !== "postgres" || running.postgres === null) {
    return { none: "the key records are not in the lab's database (${postgres})" };
  }
  const { sql, fill } = records;
  return { url: running.postgres, sql, ...(fill === undefined ? {} : { fill }) };
}

interface Sent {
  readonly keys: readonly string[];
  /** Of the bodies of all answers together. */
  readonly bodyBytes: number;
  /** The first answer that was no success, or null. */
  readonly refusal: string | null;
}

class StorageBench {
  readonly #lane: Lane;
  readonly #contender: Contender;
  readonly #sender: Sender;
  readonly #tables: RecordTables;
  readonly #onStep: (step: string) => void;

  constructor(lane: Lane, contender: Contender, sender: Sender, tables: RecordTables, onStep: (step: string) => void) {
    this.#lane = lane;
    this.#contender = contender;
    this.#sender = sender;
    this.#tables = tables;
    this.#onStep = onStep;
  }

  async measure(): Promise<MeasuredStorage | string> {
    const atFirst = await this.#tables.fileBytes();
    const small = await this.#grow("small", RECORDS.small);
    if (typeof small === "string") return `storage was not measured: ${small}`;
    const large = await this.#large(small);
    const grown: readonly [Grown, ...Grown[]] = typeof large === "string" ? [small] : [small, large];
    const filled = (await this.#tables.fileBytes()) - atFirst;
    const cycle = await this.#cycle(grown, { atFirst, filled });
    return {
      tables: [...this.#tables.names],
      parts: Math.max(...grown.map(({ parts }) => parts)),
      sizes: sizesOf(grown),
      largeLeft: typeof large === "string" ? large : null,
      cycle: typeof cycle === "string" ? null : cycle,
      cycleLeft: typeof cycle === "string" ? cycle : null,
    };
  }

  async #large(small: Grown): Promise<Grown | string> {
    if (this.#contender.large === null) return "the target file names no way to ask for a large answer (large)";
    const large = await this.#grow("large", RECORDS.large);
    if (typeof large === "string" || large.body >= small.body * LARGER_MIN) return large;
    return `asked for a large answer, the target gave ${Math.round(large.body)} bytes`;
  }

  /** Sends so many first uses, and measures by how much the tables grew for each; or says why that tells nothing. */
  async #grow(answer: Answer, records: number): Promise<Grown | string> {
    const before = await this.#tables.held();
    const { keys, bodyBytes, refusal } = await this.#send(answer, records, this.#untilShare(WITHIN_SHARE[answer]));
    const after = await this.#tables.held();
    if (keys.length < RECORDS_MIN) {
      return `${keys.length} request(s) with ${answer} answers were answered in time, and it takes ${RECORDS_MIN}${refusal === null ? "" : `; one got ${refusal}`}`;
    }
    const found = await this.#tables.countOf(keys);
    if (found < keys.length) {
      return `of ${keys.length} records that were made, ${found} were there a moment later: \`records\` shows something else, or they are gone sooner than the contract says`;
    }
    const parts = [...after.values()].filter(({ rows }) => rows > 0).length;
    const body = bodyBytes / keys.length;
    return { answer, keys, body, held: sumOf(after), index: indexGrowth(before, after), parts };
  }

  async #send(answer: Answer, records: number, end: Micros): Promise<Sent> {
    const { traffic, stage } = this.#lane;
    const keys: string[] = [];
    let [bodyBytes, left] = [0, records];
    let refusal: string | null = null;
    const sendInTurn = async (): Promise<void> => {
      while (left > 0 && stage.now() < end && refusal === null) {
        left -= 1;
        stage.signal.throwIfAborted();
        const plan = planFor(traffic, answer, stage.now());
        const built = traffic.builder.build(plan);
        const { outcome } = await exchange(this.#lane, built, this.#sender);
        if (outcome.kind !== "responded") refusal ??= `no answer (${outcome.reason})`;
        else if (!traffic.belongs("first-use", outcome)) refusal ??= `${outcome.status}`;
        else {
          bodyBytes += outcome.body.bytes;
          keys.push(built.attempt.key ?? "");
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sendInTurn));
    return { keys, bodyBytes, refusal };
  }

  /** When so much of a retention that begins now will be over. */
  #untilShare(share: number): Micros {
    return this.#lane.stage.now() + Math.min(this.#retentionMs() * share, WITHIN_MS_MAX) * 1000;
  }

  #retentionMs(): number {
    const { retentionMs } = this.#lane.stage.target.contract;
    return retentionMs === "undocumented" ? Infinity : retentionMs;
  }

  /** Sends as many again. Gives what came in between, or null when all were answered in time. */
  async #again(grown: readonly Grown[]): Promise<string | null> {
    const end = this.#untilShare(AGAIN_SHARE);
    for (const { answer, keys } of grown) {
      const { keys: made, refusal } = await this.#send(answer, keys.length, end);
      if (made.length < keys.length) {
        return `${made.length} of ${keys.length} requests with ${answer} answers${refusal === null ? "" : `, and one got ${refusal}`}`;
      }
    }
    return null;
  }

  /** What the target's cleanup leaves of `filled` bytes, and what the same again then takes. */
  async #cycle(
    grown: readonly Grown[],
    { atFirst, filled }: { readonly atFirst: number; readonly filled: number },
  ): Promise<Cycle | string> {
    const retentionMs = this.#retentionMs();
    if (retentionMs > RETENTION_MS_MAX) {
      return `the room after a cleanup was not measured: the retention is ${retentionMs === Infinity ? "undocumented" : `${retentionMs} ms`}, and ${RETENTION_MS_MAX} ms are waited for`;
    }
    const keys = grown.flatMap((one) => one.keys);
    this.#onStep("waiting until the key records are cleaned up");
    const end = performance.now() + retentionMs + CLEANED_WITHIN_MS;
    for (let left = await this.#tables.countOf(keys); left > 0; left = await this.#tables.countOf(keys)) {
      if (performance.now() > end) {
        return `the room after a cleanup was not measured: ${left} record(s) were still there ${CLEANED_WITHIN_MS} ms after their retention`;
      }
      await sleep(POLL_MS, undefined, { signal: this.#lane.stage.signal });
    }
    const kept = (await this.#tables.fileBytes()) - atFirst;
    await this.#tables.vacuum();
    const fewer = await this.#again(grown);
    if (fewer !== null)
      return `the room after a cleanup was not measured: the second time only so much came in time: ${fewer}`;
    const refilled = (await this.#tables.fileBytes()) - atFirst;
    return {
      keptShare: Math.min(1, Math.max(0, kept / filled)),
      regrowth: refilled / filled,
      deadShare: await this.#tables.deadShare(),
    };
  }
}

interface Grown {
  readonly answer: Answer;
  readonly keys: readonly string[];
  /** Of an answer's body, on average. */
  readonly body: number;
  /** What the tables then held: these, and whatever else was there. */
  readonly held: Held;
  /** By how much the indexes grew. */
  readonly index: number;
  /** How many tables held rows. */
  readonly parts: number;
}

function planFor(traffic: Traffic, answer: Answer, now: number) {
  const plan = answer === "small" ? traffic.plan("first-use", now, null) : traffic.large();
  if (plan === null) throw new Error(`nothing was planned for a ${answer} answer`);
  return plan;
}

/**
 * Whatever else lies in the tables is of earlier requests, whose answers were small: a small record is the mean of
 * all, and the large ones are what is left. So it does not matter how many were cleaned up meanwhile. An index has the same
 * entry for a record whatever its answer: over all of them, half-filled pages count less.
 */
function sizesOf([small, ...larger]: readonly [Grown, ...Grown[]]): RecordBytes[] {
  const all = [small, ...larger];
  const records = all.reduce((sum, { keys }) => sum + keys.length, 0);
  const index = all.reduce((sum, grown) => sum + grown.index, 0) / records;
  const row = small.held.row / small.held.rows;
  const toast = small.held.toast / small.held.rows;
  const sized = ({ answer, keys, body }: Grown, own: Pick<Bytes, "row" | "toast">): RecordBytes => {
    return { answer, records: keys.length, body, row: own.row, toast: own.toast, index };
  };
  return [
    sized(small, { row, toast }),
    ...larger.map((large) => {
      const { length } = large.keys;
      const others = large.held.rows - length;
      return sized(large, {
        row: (large.held.row - others * row) / length,
        toast: (large.held.toast - others * toast) / length,
      });
    }),
  ];
}

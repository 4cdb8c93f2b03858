/**
 * The target's own books, the only evidence of effects. Of what they hold only the rows of this run's
 * operations are kept: a database may be shared.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Account } from "../account.ts";
import type { Books, Effect, KeyRecord } from "../event.ts";
import { messageOf } from "../fail.ts";
import { redacted } from "../secrets.ts";
import type { TargetFile } from "../target.ts";
import { readHttp } from "./http.ts";
import { QueryFailed, readSql } from "./sql.ts";

/** What a probe reads. `columns` is there even when no row is. */
export interface Reading {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
}

/** A row as a probe reads it; values of any kind. */
export type Row = Readonly<Record<string, unknown>>;

/** Two equal readings this far apart count as quiet. */
const QUIET_MS = 250;
/** Longest that one reading may take. */
const READ_MS = 10_000;
/** Less time is no chance for a reading. */
const READ_MS_MIN = 500;
/** Books that cannot be read for so long are not waited for. */
const FAILING_MS = 2_000;

export interface BooksOptions {
  readonly file: Pick<TargetFile, "effects" | "records">;
  readonly urls: readonly URL[];
  /** The lab's database, where the file says `on: postgres`. */
  readonly postgres: string | null;
  /** The lab's processor, where the target uses it. */
  readonly processor?: { account(): Promise<Account> } | null;
  readonly secrets: readonly string[];
  /** The run is to stop: readings reject. */
  readonly signal: AbortSignal;
  readonly isOurs: (reference: string) => boolean;
  readonly isOurKey: (key: string) => boolean;
}

export class BooksProbe {
  readonly #options: BooksOptions;

  constructor(options: BooksOptions) {
    this.#options = options;
  }

  get exists(): boolean {
    return this.#options.file.effects !== undefined || this.#options.file.records !== undefined;
  }

  /** One reading. Failures are part of it: a book that cannot be read is evidence too. Rejects only when aborted. */
  async read(withinMs = READ_MS): Promise<Books> {
    const { signal, secrets } = this.#options;
    const timeoutMs = Math.max(1, Math.round(Math.min(withinMs, READ_MS)));
    try {
      const [own, account] = await Promise.all([this.#own(timeoutMs), this.#account()]);
      return { ...own, ...(account === null ? {} : { account }), quiet: false, failure: null };
    } catch (error) {
      signal.throwIfAborted();
      return { effects: null, records: null, quiet: false, failure: redacted(messageOf(error), secrets) };
    }
  }

  /**
   * Reads until two readings agree. `quiet` is false when they never did within `withinMs`, or when the books
   * cannot be read. Rejects when aborted.
   */
  async readWhenQuiet(withinMs: number): Promise<Books> {
    const end = performance.now() + withinMs;
    let before = await this.read(withinMs);
    let failingSince = performance.now();
    for (;;) {
      const isFailing = before.failure !== null && performance.now() - failingSince > FAILING_MS;
      const leftMs = end - performance.now() - QUIET_MS;
      if (isFailing || leftMs < READ_MS_MIN) return before;
      await sleep(QUIET_MS, undefined, { signal: this.#options.signal });
      const now = await this.read(leftMs);
      if (isEqual(now, before, this.#options.file.records?.completed ?? [])) return { ...now, quiet: true };
      if (now.failure === null) failingSince = performance.now();
      before = now;
    }
  }

  async #own(timeoutMs: number): Promise<Pick<Books, "effects" | "records">> {
    const { file, isOurs, isOurKey, secrets } = this.#options;
    const readings = await this.#readings(timeoutMs);
    const rowsOf = (name: BookName): readonly Row[] | null => {
      const reading = readings.get(name);
      return reading === undefined ? null : checked(name, reading);
    };
    const effects = rowsOf("effects")?.map((row) => effectOf(row, secrets)) ?? null;
    const records = file.records === undefined ? null : (rowsOf("records")?.map(recordOf) ?? null);
    return {
      effects: effects?.filter(({ operation }) => isOurs(operation)) ?? null,
      records: records?.filter(({ key }) => isOurKey(key)) ?? null,
    };
  }

  /** Books that lie in one database are read as of one moment. */
  async #readings(timeoutMs: number): Promise<ReadonlyMap<BookName, Reading>> {
    const { file, urls, postgres, signal } = this.#options;
    const readings = new Map<BookName, Reading>();
    const byUrl = new Map<string, { readonly name: BookName; readonly sql: string }[]>();
    const overHttp: Promise<unknown>[] = [];
    for (const name of BOOKS) {
      const source = file[name];
      if (source === undefined) continue;
      if ("http" in source) {
        const reading = readHttp(urls, source, signal, timeoutMs);
        overHttp.push(named(name, reading).then((found) => readings.set(name, found)));
        continue;
      }
      const url = source.on === "postgres" ? postgres : source.on;
      if (url === null) throw new Error(`${name}: the books are in the lab's postgres, and the lab has none`);
      byUrl.set(url, [...(byUrl.get(url) ?? []), { name, sql: source.sql }]);
    }
    const overSql = [...byUrl].map(async ([url, books]) => {
      const found = await together(url, books, signal, timeoutMs);
      for (const [index, { name }] of books.entries()) {
        const reading = found[index];
        if (reading) readings.set(name, reading);
      }
    });
    await Promise.all([...overHttp, ...overSql]);
    return readings;
  }

  async #account(): Promise<Account | null> {
    const { processor, isOurs } = this.#options;
    if (!processor) return null;
    const { calls, charges } = await processor.account();
    const keys = new Set(
      calls.flatMap(({ key, reference }) => (key !== null && reference !== null && isOurs(reference) ? [key] : [])),
    );
    const isOurCall = ({ key, reference }: Account["calls"][number]): boolean =>
      reference === null ? key !== null && keys.has(key) : isOurs(reference);
    return { calls: calls.filter(isOurCall), charges: charges.filter(({ reference }) => isOurs(reference)) };
  }
}

const BOOKS = ["effects", "records"] as const;
type BookName = (typeof BOOKS)[number];

const COLUMNS_NEEDED: Readonly<Record<BookName, readonly string[]>> = {
  effects: ["operation"],
  records: ["key", "state"],
};

async function together(
  url: string,
  books: readonly { readonly name: BookName; readonly sql: string }[],
  signal: AbortSignal,
  timeoutMs: number,
): Promise<readonly Reading[]> {
  const queries = books.map(({ sql }) => sql);
  try {
    return await readSql(url, queries, signal, timeoutMs);
  } catch (error) {
    const failed = books[error instanceof QueryFailed ? error.index : 0];
    throw new Error(`${failed?.name}: ${messageOf(error)}`, { cause: error });
  }
}

function named<Value>(name: BookName, value: Promise<Value>): Promise<Value> {
  return value.catch((error: unknown) => {
    throw new Error(`${name}: ${messageOf(error)}`, { cause: error });
  });
}

function checked(name: BookName, { columns, rows }: Reading): readonly Row[] {
  const needed = COLUMNS_NEEDED[name];
  const missing = needed.filter((column) => !columns.includes(column));
  if (missing.length > 0) {
    throw new Error(`${name}: found the columns ${columns.join(", ")}, expected ${missing.join(" and ")} among them`);
  }
  // A pointer that finds nothing in any row is a wrong one; in some, those rows are not ours.
  const empty = needed.filter((column) => rows.length > 0 && rows.every((row) => row[column] === undefined));
  if (empty.length > 0) throw new Error(`${name}: found no ${empty.join(" and ")} in any of ${rows.length} row(s)`);
  return rows;
}

/**
 * Without an order of its own a database may give the same rows in another one. Records that are completed may
 * be cleaned away as their retention ends: nobody is at work on them.
 */
function isEqual(one: Books, other: Books, completed: readonly string[]): boolean {
  const unfinished = ({ records }: Books): readonly KeyRecord[] | null =>
    records?.filter(({ state }) => !completed.includes(state)) ?? null;
  const sorted = (rows: readonly unknown[] | null): readonly string[] =>
    (rows ?? []).map((row) => JSON.stringify(row)).sort();
  const same = (some: readonly unknown[] | null, others: readonly unknown[] | null): boolean =>
    JSON.stringify(sorted(some)) === JSON.stringify(sorted(others));
  return (
    one.failure === null &&
    other.failure === null &&
    same(one.effects, other.effects) &&
    same(unfinished(one), unfinished(other)) &&
    same(one.account?.calls ?? null, other.account?.calls ?? null)
  );
}

function effectOf({ operation, ...columns }: Row, secrets: readonly string[]): Effect {
  return {
    operation: textOf(operation),
    columns: Object.fromEntries(
      Object.entries(columns).map(([name, value]) => [name, redacted(textOf(value), secrets)]),
    ),
  };
}

function recordOf(row: Row): KeyRecord {
  return { key: textOf(row["key"]), state: textOf(row["state"]) };
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "" : value.toISOString();
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString("hex")}`;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

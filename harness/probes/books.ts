/**
 * The target's own books, the only evidence of effects. Of what they hold only the rows of this run's
 * operations are kept: a database may be shared.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Account } from "../account.ts";
import type { Books, Effect, KeyRecord } from "../event.ts";
import { messageOf } from "../fail.ts";
import { redacted } from "../secrets.ts";
import type { BooksSource, TargetFile } from "../target.ts";
import { readHttp } from "./http.ts";
import { readSql } from "./sql.ts";

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
      const [effects, records, account] = await Promise.all([
        this.#effects(timeoutMs),
        this.#records(timeoutMs),
        this.#account(),
      ]);
      return { effects, records, ...(account === null ? {} : { account }), quiet: false, failure: null };
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
      if (isEqual(now, before)) return { ...now, quiet: true };
      if (now.failure === null) failingSince = performance.now();
      before = now;
    }
  }

  async #effects(timeoutMs: number): Promise<readonly Effect[] | null> {
    const { file, isOurs, secrets } = this.#options;
    if (file.effects === undefined) return null;
    const rows = await this.#rows("effects", file.effects, ["operation"], timeoutMs);
    return rows.map((row) => effectOf(row, secrets)).filter(({ operation }) => isOurs(operation));
  }

  async #records(timeoutMs: number): Promise<readonly KeyRecord[] | null> {
    const { file, isOurKey } = this.#options;
    if (file.records === undefined) return null;
    const rows = await this.#rows("records", file.records, ["key", "state"], timeoutMs);
    return rows.map(recordOf).filter(({ key }) => isOurKey(key));
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

  async #rows(
    name: string,
    source: BooksSource,
    needed: readonly string[],
    timeoutMs: number,
  ): Promise<readonly Row[]> {
    try {
      const { columns, rows } = await this.#reading(source, timeoutMs);
      const missing = needed.filter((column) => !columns.includes(column));
      if (missing.length > 0) {
        throw new Error(`found the columns ${columns.join(", ")}, expected ${missing.join(" and ")} among them`);
      }
      // A pointer that finds nothing in any row is a wrong one; in some, those rows are not ours.
      const empty = needed.filter((column) => rows.length > 0 && rows.every((row) => row[column] === undefined));
      if (empty.length > 0) throw new Error(`found no ${empty.join(" and ")} in any of ${rows.length} row(s)`);
      return rows;
    } catch (error) {
      throw new Error(`${name}: ${messageOf(error)}`, { cause: error });
    }
  }

  #reading(source: BooksSource, timeoutMs: number): Promise<Reading> {
    const { urls, postgres, signal } = this.#options;
    if ("http" in source) return readHttp(urls, source, signal, timeoutMs);
    const url = source.on === "postgres" ? postgres : source.on;
    if (url === null) throw new Error("the books are in the lab's postgres, and the lab has none");
    return readSql(url, source.sql, signal, timeoutMs);
  }
}

/** Without an order of its own a database may give the same rows in another one. */
function isEqual(one: Books, other: Books): boolean {
  const sorted = (rows: readonly unknown[] | null): readonly string[] =>
    (rows ?? []).map((row) => JSON.stringify(row)).sort();
  const same = (some: readonly unknown[] | null, others: readonly unknown[] | null): boolean =>
    JSON.stringify(sorted(some)) === JSON.stringify(sorted(others));
  return (
    one.failure === null &&
    other.failure === null &&
    same(one.effects, other.effects) &&
    same(one.records, other.records) &&
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

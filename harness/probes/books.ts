/**
 * The target's own books, the only evidence of effects. Of what they hold only the rows of this run's
 * operations are kept: a database may be shared.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Books, Effect, KeyRecord } from "../event.ts";
import { messageOf } from "../fail.ts";
import type { BooksSource, TargetFile } from "../target.ts";
import { readHttp } from "./http.ts";
import { readSql } from "./sql.ts";

/** A row as a probe reads it; values of any kind. */
export type Row = Readonly<Record<string, unknown>>;

/** Two equal readings this far apart count as quiet. */
const QUIET_MS = 250;

export interface BooksOptions {
  readonly file: Pick<TargetFile, "effects" | "records">;
  readonly urls: readonly URL[];
  /** The lab's database, where the file says `on: postgres`. */
  readonly postgres: string | null;
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

  /** One reading. Failures are part of it: a book that cannot be read is evidence too. */
  async read(): Promise<Books> {
    try {
      const [effects, records] = await Promise.all([this.#effects(), this.#records()]);
      return { effects, records, quiet: false, failure: null };
    } catch (error) {
      return { effects: null, records: null, quiet: false, failure: messageOf(error) };
    }
  }

  /** Reads until two readings agree. `quiet` is false when they never did within `withinMs`. */
  async readWhenQuiet(withinMs: number, signal: AbortSignal): Promise<Books> {
    const end = performance.now() + withinMs;
    let before = await this.read();
    for (;;) {
      await sleep(QUIET_MS);
      const now = await this.read();
      if (now.failure === null && JSON.stringify(now) === JSON.stringify(before)) return { ...now, quiet: true };
      if (performance.now() > end || signal.aborted) return now;
      before = now;
    }
  }

  async #effects(): Promise<readonly Effect[] | null> {
    const { file, isOurs } = this.#options;
    if (file.effects === undefined) return null;
    const rows = await this.#rows(file.effects);
    return rows.map(effectOf).filter(({ operation }) => isOurs(operation));
  }

  async #records(): Promise<readonly KeyRecord[] | null> {
    const { file, isOurKey } = this.#options;
    if (file.records === undefined) return null;
    const rows = await this.#rows(file.records);
    return rows.map(recordOf).filter(({ key }) => isOurKey(key));
  }

  #rows(source: BooksSource): Promise<readonly Row[]> {
    if ("http" in source) {
      const base = this.#options.urls[0];
      if (base === undefined) throw new Error("there is no URL to read the books from");
      return readHttp(base, source);
    }
    const url = source.on === "postgres" ? this.#options.postgres : source.on;
    if (url === null) throw new Error("the books are in the lab's postgres, and the lab has none");
    return readSql(url, source.sql);
  }
}

function effectOf(row: Row): Effect {
  const { operation, ...columns } = row;
  if (operation === undefined) {
    throw new Error(`the effects have the columns ${Object.keys(row).join(", ")}, expected one named operation`);
  }
  return {
    operation: textOf(operation),
    columns: Object.fromEntries(Object.entries(columns).map(([name, value]) => [name, textOf(value)])),
  };
}

function recordOf(row: Row): KeyRecord {
  if (!("key" in row && "state" in row)) {
    throw new Error(`the records have the columns ${Object.keys(row).join(", ")}, expected key and state`);
  }
  return { key: textOf(row["key"]), state: textOf(row["state"]) };
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

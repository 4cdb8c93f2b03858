/** Writes the history as it happens, one JSON line per event, and reads it back for judging. */
import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Event } from "./event.ts";
import { Failure, messageOf } from "./fail.ts";
import type { RunHistory } from "./history.ts";
import { HistoryBuilder } from "./reading/history-builder.ts";
import { linesOf, textOf } from "./reading/lines.ts";

/** Under load there are many lines in a moment, and one write is cheaper than many. */
const WRITE_WITHIN_MS = 5;
const WRITE_CHARACTERS = 64 * 1024;
/** More damage than this is counted and not listed. */
const DAMAGE_LISTED_MAX = 20;

export class Journal implements AsyncDisposable {
  readonly #stream: WriteStream;
  readonly path: string;
  #failure: Error | null = null;
  /** Lines that were not handed to the system yet. */
  #waiting = "";

  constructor(path: string) {
    this.path = path;
    this.#stream = createWriteStream(path, { flags: "w", highWaterMark: 1024 * 1024 });
    this.#stream.on("error", (error) => {
      this.#failure = error;
    });
  }

  /** Throws when an earlier event could not be written: a run without its history proves nothing. */
  record(event: Event): void {
    if (this.#failure) {
      throw new Failure("not-ready", `the history cannot be written to ${this.path}: ${this.#failure.message}`, {
        cause: this.#failure,
      });
    }
    if (this.#waiting === "") setTimeout(() => this.#flush(), WRITE_WITHIN_MS);
    this.#waiting += `${JSON.stringify(event)}\n`;
    if (this.#waiting.length >= WRITE_CHARACTERS) this.#flush();
  }

  #flush(): void {
    if (this.#waiting === "" || this.#stream.destroyed) return;
    this.#stream.write(this.#waiting);
    this.#waiting = "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#flush();
    if (this.#stream.destroyed) return;
    this.#stream.end();
    await once(this.#stream, "close").catch(() => undefined);
  }
}

/** Reads a history in one pass. What cannot be read is passed over and named in `damage`. */
export async function readHistory(path: string): Promise<RunHistory> {
  const found = await stat(path).catch((error: unknown) => {
    throw new Failure("usage", `${path}: the history cannot be read (${messageOf(error)})`, { cause: error });
  });
  if (!found.isFile()) throw new Failure("usage", `${path}: found a directory, expected a history.ndjson`);
  const builder = new HistoryBuilder();
  const damage: string[] = [];
  let damaged = 0;
  let lines = 0;
  let filled = 0;
  let lastDamaged = 0;
  for (const line of linesOf(path)) {
    lines += 1;
    if (builder.addLine(line)) {
      filled += 1;
      continue;
    }
    const text = textOf(line);
    if (text.trim() === "") continue;
    filled += 1;
    try {
      builder.add(eventIn(text));
    } catch (error) {
      damaged += 1;
      lastDamaged = lines;
      if (damage.length < DAMAGE_LISTED_MAX) damage.push(`line ${lines}: ${messageOf(error)}`);
    }
  }
  if (filled > 0 && damaged === filled) {
    throw new Failure(
      "usage",
      `${path}: found no event in ${filled} line(s), expected a history.ndjson as a run writes it`,
    );
  }
  if (damaged > damage.length) damage.push(`and ${damaged - damage.length} more line(s)`);
  // A last line that was cut hides nothing but the end.
  const isOnlyCut = damaged === 1 && lastDamaged === lines;
  return builder.build(damage, damaged > 0 && !isOnlyCut);
}

function eventIn(text: string): Event {
  const value: unknown = JSON.parse(text);
  const isEvent = typeof value === "object" && value !== null && "type" in value && "at" in value;
  if (!isEvent || typeof value.at !== "number") throw new Error("found JSON that is no event (no type, or no time)");
  return value as Event;
}

/**
 * Lines that are to the byte what a journal writes of an attempt whose request, or whose outcome, was seen before.
 * Most lines of a history are, and need no parsing: equal bytes are an equal event. Any other line (written by hand,
 * cut, or of something new) is left to `JSON.parse`, and nothing has happened.
 */
import type { Micros } from "../operation.ts";
import { NUMBERS } from "./attempt-id.ts";
import type { AttemptTable } from "./attempt-table.ts";
import { isPlain, LineCursor } from "./line-cursor.ts";
import type { Line } from "./lines.ts";
import { enter, type OpenAttempts, type Place } from "./open-attempts.ts";

const INVOKED = Buffer.from('{"type":"invoked","at":');
const ATTEMPT = Buffer.from(',"attempt":{"id":"');
const COMPLETED = Buffer.from('{"type":"completed","at":');
const ATTEMPT_ID = Buffer.from(',"attemptId":"');
const OUTCOME = Buffer.from('","outcome":');
const HASH = 0x23;

/** What the attempts of one scenario have in common on their lines. */
interface Watched {
  readonly scenario: string;
  readonly attempts: AttemptTable;
  readonly open: Map<number, Place>;
  /** How the ids of its attempts begin. */
  readonly idBegin: Buffer;
  /** From behind an attempt's id to the operation's name. */
  readonly operationOffset: number;
}

export class KnownLines {
  readonly #open: OpenAttempts;
  readonly #cursor = new LineCursor();
  readonly #watched = new Map<string, Watched>();
  /** The scenario of the line before. */
  #last: Watched | null = null;

  constructor(open: OpenAttempts) {
    this.#open = open;
  }

  watch(scenario: string, attempts: AttemptTable): void {
    if (!isPlain(scenario)) return;
    this.#watched.set(scenario, {
      scenario,
      attempts,
      open: this.#open.numberedIn(scenario),
      idBegin: Buffer.from(`${scenario}#`),
      operationOffset: `","scenario":"${scenario}","operation":"`.length,
    });
  }

  /** The time of the event that was entered; null: read the line as JSON. `headers`: names of those to be kept. */
  add(line: Line, headers: readonly string[]): Micros | null {
    const cursor = this.#cursor;
    cursor.place(line);
    if (cursor.skip(COMPLETED)) return this.#completed(cursor, headers);
    return cursor.skip(INVOKED) ? this.#invoked(cursor) : null;
  }

  #invoked(cursor: LineCursor): Micros | null {
    const at = cursor.integer();
    const watched = at >= 0 && cursor.skip(ATTEMPT) ? this.#scenarioOfId(cursor) : null;
    if (watched === null) return null;
    const number = cursor.integer();
    if (number < 0 || number >= NUMBERS) return null;
    const { scenario, attempts, open, operationOffset } = watched;
    const row = attempts.invokedOnLine(cursor, { scenario, number }, cursor.at + operationOffset, at);
    if (row < 0) return null;
    enter(open, number, { attempts, row });
    return at;
  }

  #completed(cursor: LineCursor, headers: readonly string[]): Micros | null {
    const at = cursor.integer();
    const watched = at >= 0 && cursor.skip(ATTEMPT_ID) ? this.#scenarioOfId(cursor) : null;
    if (watched === null) return null;
    const number = cursor.integer();
    const place = number >= 0 && cursor.skip(OUTCOME) ? watched.open.get(number) : undefined;
    if (place === undefined || !place.attempts.completedOnLine(place.row, cursor, at, headers)) return null;
    watched.open.delete(number);
    return at;
  }

  /** Over the scenario's name in an attempt's id, and the # after it. Mostly it is that of the line before. */
  #scenarioOfId(cursor: LineCursor): Watched | null {
    if (this.#last !== null && cursor.skip(this.#last.idBegin)) return this.#last;
    const { bytes, at } = cursor;
    if (!cursor.toQuote()) return null;
    let end = cursor.at;
    while (end >= at && bytes[end] !== HASH) end -= 1;
    const watched = end < at ? undefined : this.#watched.get(bytes.toString("latin1", at, end));
    if (watched === undefined) return null;
    cursor.at = end + 1;
    this.#last = watched;
    return watched;
  }
}

/**
 * The bytes of one answer's JSON as they are kept: with those headers that a judge may look at, in the judge's order.
 * They are made of an answer, or of a line that a journal wrote of one, without parsing it.
 */
import type { Responded } from "../operation.ts";
import type { LineCursor } from "./line-cursor.ts";

const BEGIN = Buffer.from('{"kind":"responded","status":');
const HEADERS = Buffer.from(',"headers":{');
const BODY = Buffer.from('},"body":');
/** Of the outcome and of the event. */
const ENDS = "}}";
const [QUOTE, COLON, COMMA, BRACE] = [0x22, 0x3a, 0x2c, 0x7d];
const BYTES_AT_FIRST = 64 * 1024;

export class AnswerBytes {
  bytes = Buffer.allocUnsafeSlow(BYTES_AT_FIRST);
  length = 0;
  status = 0;
  /** On its line. */
  #bodyFrom = 0;
  #names: readonly string[] = [];
  #sought: Sought[] = [];

  of(answer: Responded): void {
    const text = JSON.stringify(answer);
    this.#clear(3 * text.length);
    this.length = this.bytes.write(text);
    this.status = answer.status;
  }

  /** From the beginning of an outcome. False: one of another kind, or written in another way. */
  onLine(cursor: LineCursor, headers: readonly string[]): boolean {
    const { bytes, at, until } = cursor;
    this.#clear(until - at);
    if (!cursor.skip(BEGIN)) return false;
    this.status = cursor.integer();
    if (this.status < 0) return false;
    this.#copy(bytes, at, cursor.at);
    if (!cursor.skip(HEADERS)) return false;
    this.#seek(headers);
    if (!this.#readHeaders(cursor)) return false;
    const headersUntil = cursor.at;
    if (!cursor.skip(BODY)) return false;
    if (until - cursor.at <= ENDS.length || bytes[until - 1] !== BRACE || bytes[until - 2] !== BRACE) return false;
    this.#copy(HEADERS, 0, HEADERS.length);
    this.#copyHeaders(bytes);
    this.#bodyFrom = this.length + BODY.length;
    // With the brace that ends the outcome; the other one ends the event.
    this.length += bytes.copy(this.bytes, this.length, headersUntil, until - 1);
    return true;
  }

  /** Undefined: what a line has in the place of its body is no JSON. */
  body(): unknown {
    try {
      return JSON.parse(this.bytes.toString("utf8", this.#bodyFrom, this.length - 1));
    } catch {
      return undefined;
    }
  }

  /** To the brace after the last header. Of equal names the last one counts, as in JSON. */
  #readHeaders(cursor: LineCursor): boolean {
    const { bytes } = cursor;
    if (bytes[cursor.at] === BRACE) return true;
    for (;;) {
      const nameFrom = cursor.at;
      if (bytes[nameFrom] !== QUOTE) return false;
      cursor.at += 1;
      if (!cursor.toQuote() || bytes[cursor.at + 1] !== COLON || bytes[cursor.at + 2] !== QUOTE) return false;
      const valueFrom = cursor.at + 3;
      cursor.at = valueFrom;
      if (!cursor.toQuote()) return false;
      cursor.at += 1;
      this.#found(bytes, nameFrom, valueFrom, cursor.at);
      if (bytes[cursor.at] !== COMMA) return true;
      cursor.at += 1;
    }
  }

  #found(bytes: Buffer, nameFrom: number, valueFrom: number, until: number): void {
    for (const sought of this.#sought) {
      const { begin } = sought;
      if (begin.length !== valueFrom - nameFrom) continue;
      let index = 1;
      while (index < begin.length && begin[index] === bytes[nameFrom + index]) index += 1;
      if (index < begin.length) continue;
      sought.from = valueFrom;
      sought.until = until;
      return;
    }
  }

  #seek(names: readonly string[]): void {
    if (names !== this.#names) {
      this.#names = names;
      this.#sought = names.map((name) => ({ begin: Buffer.from(`${JSON.stringify(name)}:"`), from: 0, until: 0 }));
    }
    for (const sought of this.#sought) sought.until = 0;
  }

  #copyHeaders(bytes: Buffer): void {
    let isFirst = true;
    for (const { begin, from, until } of this.#sought) {
      if (until === 0) continue;
      if (!isFirst) {
        this.bytes[this.length] = COMMA;
        this.length += 1;
      }
      isFirst = false;
      this.#copy(begin, 0, begin.length);
      this.#copy(bytes, from, until);
    }
  }

  /** For a few bytes a loop is faster than a call out of JavaScript. */
  #copy(bytes: Buffer, from: number, until: number): void {
    const { bytes: own, length } = this;
    for (let at = from; at < until; at += 1) own[length + at - from] = bytes[at] ?? 0;
    this.length = length + until - from;
  }

  #clear(bytes: number): void {
    this.length = 0;
    if (this.bytes.length < bytes) this.bytes = Buffer.allocUnsafeSlow(2 * bytes);
  }
}

interface Sought {
  /** The name and what stands between it and its value, up to the first quote. */
  readonly begin: Buffer;
  /** The value, with the quote that ends it. */
  from: number;
  until: number;
}

/** A place on a line that moves on over what it recognises, so that bytes are compared and nothing is made of them. */
import type { ByteStore } from "./byte-store.ts";
import type { Line } from "./lines.ts";

const [ZERO, NINE, QUOTE, BACKSLASH] = [0x30, 0x39, 0x22, 0x5c];
/** All numbers of so many digits are exact. */
const DIGITS_MAX = 15;
/** By byte: stands for itself in a JSON string of plain ASCII. */
const IS_PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte < 0x7f && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
);

export class LineCursor {
  bytes: Buffer = Buffer.alloc(0);
  at = 0;
  until = 0;

  place({ bytes, from, until }: Line): void {
    this.bytes = bytes;
    this.at = from;
    this.until = until;
  }

  /** Over exactly these bytes, or nowhere. */
  skip(expected: Uint8Array): boolean {
    const { bytes, at } = this;
    const { length } = expected;
    if (at + length > this.until) return false;
    for (let index = 0; index < length; index += 1) if (bytes[at + index] !== expected[index]) return false;
    this.at = at + length;
    return true;
  }

  /** Over exactly these stored bytes, or nowhere. */
  skipStored(store: ByteStore, from: number, until: number): boolean {
    const end = this.at + until - from;
    if (end > this.until || !store.isSame(from, until, this.bytes, this.at)) return false;
    this.at = end;
    return true;
  }

  /** Over a whole number as JSON.stringify writes it; -1: there is none. */
  integer(): number {
    const { bytes, at: from } = this;
    const last = Math.min(this.until, from + DIGITS_MAX);
    let at = from;
    let value = 0;
    for (; at < last; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte < ZERO || byte > NINE) break;
      value = 10 * value + byte - ZERO;
    }
    if (at === from || (bytes[from] === ZERO && at > from + 1)) return -1;
    this.at = at;
    return value;
  }

  /** To the quote that ends a string of plain ASCII; false: another one. */
  toQuote(): boolean {
    const { bytes, until } = this;
    let { at } = this;
    while (at < until && IS_PLAIN[bytes[at] ?? 0] === 1) at += 1;
    this.at = at;
    return at < until && bytes[at] === QUOTE;
  }
}

/** Would JSON.stringify write it as it is, in plain ASCII? In a history that somebody edited it may be no text at all. */
export function isPlain(text: unknown): boolean {
  if (typeof text !== "string") return false;
  for (let index = 0; index < text.length; index += 1) if (IS_PLAIN[text.charCodeAt(index)] !== 1) return false;
  return true;
}

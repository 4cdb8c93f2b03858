/**
 * The lines of a file as bytes, read in large pieces: a long history is read several times faster so than as a stream
 * of text, since most of its lines never become text. Only \n ends a line; a JSON text may hold other characters that
 * some readers take for an end.
 */
import { isAscii } from "node:buffer";
import { closeSync, openSync, readSync } from "node:fs";

/** A part of the reader's buffer. It is a line until the next one is asked for. */
export interface Line {
  readonly bytes: Buffer;
  readonly from: number;
  readonly until: number;
}

/** So much fits into a core's own cache. */
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

export function* linesOf(path: string): Generator<Line, void> {
  const descriptor = openSync(path, "r");
  try {
    let bytes = Buffer.allocUnsafe(CHUNK_BYTES);
    /** Bytes of a line whose end was not read yet. */
    let begun = 0;
    for (;;) {
      if (begun === bytes.length) bytes = Buffer.concat([bytes], 2 * bytes.length);
      const read = readSync(descriptor, bytes, begun, bytes.length - begun, null);
      if (read === 0) break;
      const filled = begun + read;
      const last = bytes.subarray(begun, filled).lastIndexOf(NEWLINE);
      const end = begun + last;
      for (let from = 0; last >= 0 && from <= end; ) {
        const until = bytes.indexOf(NEWLINE, from);
        yield { bytes, from, until };
        from = until + 1;
      }
      begun = last < 0 ? filled : bytes.copy(bytes, 0, end + 1, filled);
    }
    if (begun > 0) yield { bytes, from: 0, until: begun };
  } finally {
    closeSync(descriptor);
  }
}

/** Almost all histories are plain ASCII, which needs no decoding. */
export function textOf({ bytes, from, until }: Line): string {
  return isAscii(bytes.subarray(from, until))
    ? bytes.toString("latin1", from, until)
    : bytes.toString("utf8", from, until);
}

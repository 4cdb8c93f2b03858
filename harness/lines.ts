/**
 * The lines of a file, read in large pieces: a long history is read several times faster so than as a stream. Only
 * \n ends a line; a JSON text may hold other characters that some readers take for an end.
 */
import { isAscii } from "node:buffer";
import { closeSync, openSync, readSync } from "node:fs";

/** Pieces of this size become strings that V8 keeps among the young objects. */
const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

export function* linesOf(path: string): Generator<string, void> {
  const descriptor = openSync(path, "r");
  try {
    let buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    /** Bytes of a line whose end was not read yet. */
    let begun = 0;
    for (;;) {
      if (begun === buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length);
      const read = readSync(descriptor, buffer, begun, buffer.length - begun, null);
      if (read === 0) break;
      const filled = begun + read;
      const last = buffer.subarray(begun, filled).lastIndexOf(NEWLINE);
      const end = begun + last;
      if (last >= 0) for (const line of textOf(buffer.subarray(0, end)).split("\n")) yield line;
      begun = last < 0 ? filled : buffer.copy(buffer, 0, end + 1, filled);
    }
    if (begun > 0) yield textOf(buffer.subarray(0, begun));
  } finally {
    closeSync(descriptor);
  }
}

/** Almost all histories are plain ASCII, which needs no decoding. */
function textOf(bytes: Buffer): string {
  return isAscii(bytes) ? bytes.toString("latin1") : bytes.toString("utf8");
}

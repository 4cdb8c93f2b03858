/**
 * The lines of a file, read in large pieces: a long history is read several times faster so than as a stream. Only
 * \n ends a line; a JSON text may hold other characters that some readers take for an end.
 */
import { isAscii } from "node:buffer";
import { closeSync, openSync, readSync } from "node:fs";

const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

export function* linesOf(path: string): Generator<string, void> {
  const descriptor = openSync(path, "r");
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    /** Of a line whose end was not read yet. */
    let begun: Buffer[] = [];
    for (let read = readSync(descriptor, chunk); read > 0; read = readSync(descriptor, chunk)) {
      const bytes = chunk.subarray(0, read);
      const end = bytes.lastIndexOf(NEWLINE);
      if (end >= 0) yield* textOf([...begun, bytes.subarray(0, end)]).split("\n");
      if (end >= 0) begun = [];
      begun.push(Buffer.from(bytes.subarray(end + 1)));
    }
    const last = textOf(begun);
    if (last !== "") yield last;
  } finally {
    closeSync(descriptor);
  }
}

/** Almost all histories are plain ASCII, which needs no decoding. */
function textOf(pieces: readonly Buffer[]): string {
  const bytes = Buffer.concat(pieces);
  return isAscii(bytes) ? bytes.toString("latin1") : bytes.toString("utf8");
}

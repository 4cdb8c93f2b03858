/** Writes a process's output to a file in whole lines: bounded, and without the secrets of callers. */
import { createWriteStream, type WriteStream } from "node:fs";
import type { Readable } from "node:stream";
import { redacted } from "../secrets.ts";

/** A log beyond this is cut: a target that logs without end must not fill the disk. */
export const LOG_BYTES_MAX = 32 * 1024 * 1024;
/** A line beyond this is written in parts. */
export const LINE_CHARACTERS_MAX = 64 * 1024;

export class ProcessLog {
  readonly #stream: WriteStream;
  readonly #secrets: readonly string[];
  /** A secret may lie across the cut of a long line: so much is kept for the next part. */
  readonly #overlap: number;
  readonly #sources: Promise<void>[] = [];
  #closed: Promise<void> | undefined;
  #bytes = 0;

  constructor(path: string, secrets: readonly string[]) {
    this.#stream = createWriteStream(path, { flags: "a" });
    // A log that cannot be written is no reason to leave the run's processes alone.
    this.#stream.on("error", () => undefined);
    this.#secrets = secrets;
    this.#overlap = Math.max(0, ...secrets.map(({ length }) => length - 1));
  }

  take(source: Readable): void {
    let rest = "";
    source.setEncoding("utf8");
    source.on("data", (chunk: string) => {
      const text = rest + chunk;
      const end = text.lastIndexOf("\n") + 1;
      rest = text.slice(end);
      if (end > 0) this.#write(text.slice(0, end));
      while (rest.length > LINE_CHARACTERS_MAX + this.#overlap) rest = this.#writePart(rest);
    });
    source.on("end", () => rest !== "" && this.#write(`${rest}\n`));
    source.on("error", () => undefined);
    this.#sources.push(new Promise((resolve) => source.once("close", () => resolve())));
  }

  /** Resolves when the process and all that hold its output have ended, and every line is in the file. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await Promise.all(this.#sources);
    await new Promise<void>((resolve) => {
      this.#stream.once("close", resolve);
      this.#stream.end();
    });
  }

  #writePart(line: string): string {
    const clean = redacted(line, this.#secrets);
    const cut = Math.max(1, clean.length - this.#overlap);
    this.#write(`${clean.slice(0, cut)}\n`);
    return clean.slice(cut);
  }

  #write(lines: string): void {
    if (this.#bytes > LOG_BYTES_MAX) return;
    const text = redacted(lines, this.#secrets);
    this.#bytes += Buffer.byteLength(text);
    this.#stream.write(this.#bytes > LOG_BYTES_MAX ? "[the log goes on and is cut here]\n" : text);
  }
}

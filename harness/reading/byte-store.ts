/**
 * Texts one after the other as bytes outside the heap, where they are never looked at by the garbage collector: of a
 * long history all requests and answers are kept so until their scenario is judged.
 */
const BYTES_AT_FIRST = 16 * 1024;

export class ByteStore {
  #bytes = Buffer.alloc(0);
  #length = 0;

  /** Where the next text will begin. */
  get end(): number {
    return this.#length;
  }

  add(text: string): void {
    // No character takes more than three bytes for each unit of its own.
    this.#reserve(3 * text.length);
    this.#length += this.#bytes.write(text, this.#length);
  }

  addBytes(bytes: Buffer, from: number, until: number): void {
    this.#reserve(until - from);
    this.#length += bytes.copy(this.#bytes, this.#length, from, until);
  }

  /** Forgets what was added from there on. */
  cut(end: number): void {
    this.#length = end;
  }

  /** Gives back what it holds in reserve. */
  trim(): void {
    this.#resize(this.#length);
  }

  text(from: number, until: number): string {
    return this.#bytes.toString("utf8", from, until);
  }

  isSame(from: number, until: number, other: Buffer, otherFrom: number): boolean {
    return this.#bytes.compare(other, otherFrom, otherFrom + until - from, from, until) === 0;
  }

  isRepeated(from: number, until: number, otherFrom: number): boolean {
    return this.isSame(from, until, this.#bytes, otherFrom);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed > this.#bytes.length) this.#resize(Math.max(needed, 2 * this.#length, BYTES_AT_FIRST));
  }

  #resize(length: number): void {
    const bytes = Buffer.allocUnsafeSlow(length);
    this.#bytes.copy(bytes, 0, 0, this.#length);
    this.#bytes = bytes;
  }
}

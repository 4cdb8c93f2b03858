/**
 * A socket that keeps back the end of a request. `node:http` writes a whole request into it; everything but
 * the held bytes goes out when it is armed, and the release writes the rest straight to the connection. So
 * HTTP is never written by hand, and nothing but one write per connection stands between the release and the
 * wire.
 */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { Gate } from "../event.ts";

export class GatedSocket extends Duplex {
  readonly #connection: Socket;
  #written: Buffer[] = [];
  /** What of the request is still here, and how much of it may go before the release. */
  #rest: Buffer = Buffer.alloc(0);
  #ahead = 0;
  #isArmed = false;
  #isOpen = false;
  #isEnded = false;

  constructor(connection: Socket) {
    super({ allowHalfOpen: true });
    this.#connection = connection;
    connection.on("data", (chunk: Buffer) => {
      if (!this.push(chunk)) connection.pause();
    });
    connection.on("end", () => {
      this.#isEnded = true;
      this.push(null);
    });
    connection.on("error", (error) => this.destroy(error));
    // After an orderly end the answer may still wait here to be read.
    connection.on("close", () => {
      if (!this.#isEnded) this.destroy();
    });
  }

  /** Sends all but what the gate keeps back and the byte before it. Resolves when the kernel has it. */
  arm(gate: Gate): Promise<void> {
    const request = Buffer.concat(this.#written);
    this.#written = [];
    this.#isArmed = true;
    // Whoever did not wait until it stood at the gate finds the gate open.
    const held = this.#isOpen ? request.length : heldFrom(request, gate);
    const until = this.#isOpen ? held : Math.max(0, held - 1);
    this.#rest = request.subarray(until);
    this.#ahead = held - until;
    if (until === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#connection.write(request.subarray(0, until), (error) => (error ? reject(error) : resolve()));
    });
  }

  /**
   * Sends the byte before the held ones. Called right before the release it wakes the target and warms both
   * ends of the connection, and halves the spread: the target reads it while the releases are written.
   */
  rouse(): void {
    if (this.#isOpen || this.#ahead === 0) return;
    this.#connection.write(this.#rest.subarray(0, this.#ahead));
    this.#rest = this.#rest.subarray(this.#ahead);
    this.#ahead = 0;
  }

  /** Lets the rest go. Whatever is written afterwards passes through. */
  release(): void {
    this.#isOpen = true;
    if (this.#isArmed) this.#connection.write(this.#rest);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    if (this.#isOpen && this.#isArmed) {
      this.#connection.write(chunk, callback);
      return;
    }
    this.#written.push(chunk);
    callback();
  }

  override _read(): void {
    this.#connection.resume();
  }

  override _final(callback: (error?: Error | null) => void): void {
    callback();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#connection.destroy();
    callback(error);
  }
}

const END_OF_HEADERS = "\r\n\r\n";

/** The offset from which a gate keeps a request back. */
function heldFrom(request: Buffer, gate: Gate): number {
  switch (gate) {
    case "last-header-byte": {
      const end = request.indexOf(END_OF_HEADERS);
      return end === -1 ? 0 : end + END_OF_HEADERS.length - 1;
    }
    case "none":
      return 0;
    default:
      return Math.max(0, request.length - 1);
  }
}

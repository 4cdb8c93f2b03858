/**
 * Counts the round trips between a target and its database, which no statistics of the server tell: a client may send
 * several statements in one. A relay that passes everything on and counts the server's ReadyForQuery, by which
 * the server ends each of them (PostgreSQL documentation, "Frontend/Backend Protocol", message formats).
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

const READY_FOR_QUERY = 0x5a;
/** Type and length. */
const HEAD_BYTES = 5;
/** What a client asks before it begins: for TLS, or for GSSAPI encryption. */
const ENCRYPTION_REQUESTS = [80_877_103, 80_877_104];
const ENCRYPTION_REQUEST_BYTES = 8;

export class RoundTripCounter implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #target: URL;
  #count = 0;

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer({ noDelay: true }, (client) => this.#relay(client));
  }

  static async open(url: string): Promise<RoundTripCounter> {
    const counter = new RoundTripCounter(new URL(url));
    // Whoever forgets it is not kept from ending.
    counter.#server.listen(0, "127.0.0.1").unref();
    await once(counter.#server, "listening");
    return counter;
  }

  /** The database's URL by way of the relay. */
  get url(): string {
    const url = new URL(this.#target);
    url.hostname = "127.0.0.1";
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** So far. The start of a connection is one, too. */
  get count(): number {
    return this.#count;
  }

  #relay(client: Socket): void {
    const database = connect({
      host: this.#target.hostname,
      port: Number(this.#target.port || 5432),
      noDelay: true,
    });
    const messages = new MessageReader((type) => {
      if (type === READY_FOR_QUERY) this.#count += 1;
    });
    let isBegun = false;
    client.on("data", (bytes: Buffer) => {
      if (!isBegun && isEncryptionRequest(bytes)) return void client.write("N");
      isBegun = true;
      database.write(bytes);
    });
    database.on("data", (bytes: Buffer) => {
      messages.read(bytes);
      client.write(bytes);
    });
    for (const [one, other] of [
      [client, database],
      [database, client],
    ] as const) {
      this.#sockets.add(one);
      one.on("error", () => other.destroy());
      one.once("close", () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}

function isEncryptionRequest(bytes: Buffer): boolean {
  return bytes.length === ENCRYPTION_REQUEST_BYTES && ENCRYPTION_REQUESTS.includes(bytes.readUInt32BE(4));
}

/** Tells the types of the messages in a stream, wherever it is cut. */
export class MessageReader {
  readonly #onMessage: (type: number) => void;
  #head = Buffer.alloc(0);
  #bodyLeft = 0;

  constructor(onMessage: (type: number) => void) {
    this.#onMessage = onMessage;
  }

  read(bytes: Buffer): void {
    let rest = bytes;
    while (rest.length > 0) {
      const skipped = Math.min(this.#bodyLeft, rest.length);
      this.#bodyLeft -= skipped;
      rest = rest.subarray(skipped);
      if (rest.length === 0) return;
      const taken = Math.min(HEAD_BYTES - this.#head.length, rest.length);
      this.#head = Buffer.concat([this.#head, rest.subarray(0, taken)]);
      rest = rest.subarray(taken);
      if (this.#head.length < HEAD_BYTES) return;
      this.#onMessage(this.#head[0] ?? 0);
      // The length counts itself.
      this.#bodyLeft = this.#head.readUInt32BE(1) - 4;
      this.#head = Buffer.alloc(0);
    }
  }
}

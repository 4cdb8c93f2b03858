/**
 * A TCP server that answers byte for byte what a test tells it, right or wrong. It keeps what it received and
 * knows which connections are still open.
 */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface RawConnection {
  readonly socket: Socket;
  readonly received: () => Buffer;
}

/** Called with each piece that comes. */
type OnData = (connection: RawConnection, piece: Buffer) => void;

export class RawServer implements AsyncDisposable {
  readonly connections: RawConnection[] = [];
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  private constructor(onData: OnData) {
    // Half open, as servers are that answer a client which has finished sending.
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket, onData));
  }

  static async start(onData: OnData = () => undefined, host = "127.0.0.1"): Promise<RawServer> {
    const server = new RawServer(onData);
    server.#server.listen(0, host);
    await once(server.#server, "listening");
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${this.port}`);
  }

  get openConnections(): number {
    return this.#open.size;
  }

  /** What the first connection received. */
  get received(): string {
    return this.connections[0]?.received().toString("latin1") ?? "";
  }

  #accept(socket: Socket, onData: OnData): void {
    const pieces: Buffer[] = [];
    const connection = { socket, received: () => Buffer.concat(pieces) };
    this.connections.push(connection);
    this.#open.add(socket);
    socket.setNoDelay(true);
    socket.on("data", (piece) => {
      pieces.push(piece);
      onData(connection, piece);
    });
    socket.on("end", () => socket.end());
    socket.on("error", () => undefined);
    socket.on("close", () => this.#open.delete(socket));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Waits until a condition holds; fails the test with its name when it does not come to hold. */
export async function until(name: string, condition: () => boolean, withinMs = 3_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${name}`);
    await sleep(2);
  }
}

/** True once a request with a Content-Length, or without a body, has come whole. */
export function isWhole(request: Buffer): boolean {
  const end = request.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const headers = request.subarray(0, end).toString("latin1");
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(headers)?.[1] ?? 0);
  return request.length >= end + 4 + length;
}

/**
 * A TCP relay before an HTTP/2 server. It tells in how many pieces the last frames of the requests came
 * through: each piece is what one read of the socket gave. The relay is idle when the release comes and reads
 * at once, so separate writes are separate pieces, unless they follow each other within microseconds.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export interface Release {
  /** Requests that were ended by a DATA frame. */
  readonly requests: number;
  /** Pieces that carried any part of those frames. */
  readonly segments: number;
}

const PREFACE_BYTES = 24;
const FRAME_HEADER_BYTES = 9;
const DATA = 0;
const END_STREAM = 1;

export class SegmentRelay implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #connections: Buffer[][] = [];
  #to = 0;

  constructor() {
    this.#server = createServer((client) => this.#relay(client));
  }

  /** Resolves to the relay's own port. */
  async listen(to: number): Promise<number> {
    this.#to = to;
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  /** Of all connections since this was last asked. */
  takeRelease(): Release {
    const releases = this.#connections.map(releaseIn);
    this.#connections = [];
    return {
      requests: releases.reduce((sum, { requests }) => sum + requests, 0),
      segments: releases.reduce((sum, { segments }) => sum + segments, 0),
    };
  }

  #relay(client: Socket): void {
    const pieces: Buffer[] = [];
    this.#connections.push(pieces);
    const server = connect(this.#to, "127.0.0.1");
    client.on("data", (piece) => pieces.push(piece));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one);
      one.setNoDelay(true);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => this.#sockets.delete(one));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Reads the frames of what one client sent (RFC 9113 section 4.1). */
export function releaseIn(pieces: readonly Buffer[]): Release {
  const bytes = Buffer.concat(pieces);
  const offsets = pieceOffsets(pieces);
  const carrying = new Set<number>();
  let requests = 0;
  let from = PREFACE_BYTES;
  while (from + FRAME_HEADER_BYTES <= bytes.length) {
    const until = from + FRAME_HEADER_BYTES + bytes.readUIntBE(from, 3);
    const isEnd = bytes.readUInt8(from + 3) === DATA && (bytes.readUInt8(from + 4) & END_STREAM) !== 0;
    if (isEnd) {
      requests += 1;
      offsets.forEach(([start, end], piece) => {
        if (start < until && end > from) carrying.add(piece);
      });
    }
    from = until;
  }
  return { requests, segments: carrying.size };
}

function pieceOffsets(pieces: readonly Buffer[]): readonly (readonly [number, number])[] {
  let start = 0;
  return pieces.map((piece) => {
    const end = start + piece.length;
    const offsets = [start, end] as const;
    start = end;
    return offsets;
  });
}

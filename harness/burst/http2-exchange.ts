/**
 * The same over HTTP/2 with prior knowledge: all attempts of a burst that go to one replica are streams of
 * one connection, and their last bytes leave in one segment.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import type { HttpRequest, Outcome } from "../operation.ts";
import {
  AnswerReader,
  CONNECT_MS,
  type Exchange,
  type ExchangeOptions,
  exchangeOf,
  joined,
  joinPath,
  lossOf,
  malformed,
} from "./exchange.ts";
import { Settlement } from "./settlement.ts";

/** Names that HTTP/2 forbids (RFC 9113 section 8.2.2). */
const CONNECTION_HEADERS = new Set(["connection", "keep-alive", "host", "transfer-encoding", "upgrade"]);

export class Http2Connection implements Disposable {
  readonly #session: ClientHttp2Session;
  readonly #base: URL;
  readonly #limit: NodeJS.Timeout;
  #isConnected = false;
  #failure: NodeJS.ErrnoException | null = null;

  constructor(base: URL) {
    this.#base = base;
    this.#session = connect(base);
    this.#limit = setTimeout(() => {
      this.#session.destroy(new Error(`no connection within ${CONNECT_MS} ms`));
    }, CONNECT_MS);
    this.#session.on("connect", () => {
      this.#isConnected = true;
      clearTimeout(this.#limit);
    });
    this.#session.on("error", (error) => {
      this.#failure = error;
    });
  }

  /**
   * Resolves after a round trip: what was written before has reached the other side. False when the
   * connection failed. For how long it is worth waiting, the caller knows.
   */
  async settle(): Promise<boolean> {
    if (this.#session.destroyed) return false;
    return new Promise((resolve) => {
      this.#session.once("close", () => resolve(false));
      const ping = (): void => {
        const isSent = this.#session.ping((error) => resolve(error === null));
        if (!isSent) resolve(false);
      };
      if (this.#session.connecting) this.#session.once("connect", ping);
      else ping();
    });
  }

  /** Neither throws nor rejects. */
  open(request: HttpRequest, options: ExchangeOptions): Exchange {
    const body = Buffer.from(request.body);
    const stream = this.#stream(request, body.length);
    const settlement = new Settlement(() => {
      if (stream instanceof Error || stream.destroyed) return;
      stream.close(constants.NGHTTP2_CANCEL);
    });
    if (stream instanceof Error) settlement.settle({ kind: "refused", reason: stream.message });
    else this.#receive(stream, settlement, options.bytesMax);
    if (!(stream instanceof Error) && body.length > 1) stream.write(body.subarray(0, -1));
    return exchangeOf(settlement, options, {
      armed: Promise.resolve(),
      // One segment lets them all go; there is no gap to close.
      rouse: () => undefined,
      letGo: () => {
        if (!(stream instanceof Error)) stream.end(body.subarray(-1));
      },
    });
  }

  /** The error of a request that cannot be sent, such as one with a line break in a header. */
  #stream(request: HttpRequest, bytes: number): ClientHttp2Stream | Error {
    const headers = Object.entries(request.headers).filter(([name]) => !CONNECTION_HEADERS.has(name.toLowerCase()));
    try {
      return this.#session.request(
        {
          ...Object.fromEntries(headers),
          ...(bytes > 0 ? { "content-length": String(bytes) } : {}),
          ":method": request.method,
          ":path": joinPath(this.#base, request.path),
        },
        // Without this a DELETE, which seldom has a body, would be complete before the release.
        { endStream: false },
      );
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #receive(stream: ClientHttp2Stream, settlement: Settlement, bytesMax: number | undefined): void {
    let isAnswered = false;
    stream.on("response", (headers) => {
      isAnswered = true;
      void readAnswer(stream, headers, bytesMax).then((outcome) => settlement.settle(outcome));
    });
    // Once an answer has begun, its reader says how it ended. A stream learns of a lost connection first.
    const lose = (error: Error | null): void => {
      if (!isAnswered) settlement.settle(this.#lost(stream, causeOf(error) ?? this.#failure));
    };
    stream.on("error", lose);
    stream.on("close", () => lose(null));
  }

  #lost(stream: ClientHttp2Stream, error: NodeJS.ErrnoException | null): Outcome {
    if (!this.#isConnected) return { kind: "refused", reason: error?.code ?? error?.message ?? "closed" };
    if (error?.code === "ERR_HTTP2_ERROR") return malformed(error);
    // A stream that ends while the connection lives on was reset.
    const reason = !this.#session.closed ? "reset" : error === null ? "closed" : lossOf(error);
    return { kind: "indeterminate", reason, detail: `HTTP/2 error code ${stream.rstCode}` };
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#limit);
    this.#session.destroy();
  }
}

/** A stream that waited for its connection is cancelled for the connection's reason. */
function causeOf(error: Error | null): NodeJS.ErrnoException | null {
  return error?.cause instanceof Error ? error.cause : error;
}

async function readAnswer(
  stream: ClientHttp2Stream,
  headers: IncomingHttpHeaders,
  bytesMax: number | undefined,
): Promise<Outcome> {
  const reader = new AnswerReader(bytesMax);
  try {
    for await (const chunk of stream) {
      if (!reader.add(chunk as Buffer)) return { kind: "indeterminate", reason: "oversized" };
    }
  } catch {
    return { kind: "indeterminate", reason: "truncated" };
  }
  if (!isWhole(stream, headers, reader.bytes)) return { kind: "indeterminate", reason: "truncated" };
  return { kind: "responded", status: Number(headers[":status"]), headers: joined(headers), body: reader.body() };
}

/**
 * `node:http2` ends a body in the usual way also when the stream was cancelled or its connection closed; only
 * the code then tells. A reset with code 0 looks like the end, so the length has its say where it is told.
 */
function isWhole(stream: ClientHttp2Stream, headers: IncomingHttpHeaders, bytes: number): boolean {
  if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) return false;
  const length = headers["content-length"];
  return length === undefined || Number(length) === bytes;
}

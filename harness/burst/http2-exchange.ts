/**
 * The same over HTTP/2 with prior knowledge: all attempts of a burst that go to one replica are streams of
 * one connection, and their last bytes leave in one segment.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from "node:http2";
import type { HttpRequest, Outcome } from "../operation.ts";
import { AnswerReader, type Exchange, type ExchangeOptions, joined, joinPath } from "./exchange.ts";

/** Names that HTTP/2 forbids (RFC 9113 section 8.2.2). */
const CONNECTION_HEADERS = new Set(["connection", "keep-alive", "host", "transfer-encoding", "upgrade"]);

export class Http2Connection implements Disposable {
  readonly #session: ClientHttp2Session;
  readonly #base: URL;
  #failure: Error | null = null;

  constructor(base: URL) {
    this.#base = base;
    this.#session = connect(base);
    this.#session.on("error", (error) => {
      this.#failure = error;
    });
  }

  /** Resolves after a round trip: what was written before has reached the other side. False when the connection failed. */
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

  open(request: HttpRequest, options: ExchangeOptions): Exchange {
    const body = Buffer.from(request.body);
    const stream = this.#stream(request, body.length);
    let timer: NodeJS.Timeout | undefined;
    let isSettled = false;
    let settle: (outcome: Outcome) => void = () => undefined;
    const outcome = new Promise<Outcome>((resolve) => {
      settle = (value) => {
        isSettled = true;
        clearTimeout(timer);
        resolve(value);
      };
    });
    let isAnswered = false;
    stream.on("response", (headers) => {
      isAnswered = true;
      void readAnswer(stream, headers).then(settle);
    });
    // Once an answer has begun, its reader says how it ended.
    const lose = (): void => {
      if (!isAnswered) settle(this.#lost());
    };
    stream.on("error", lose);
    stream.on("close", lose);
    if (body.length > 1) stream.write(body.subarray(0, -1));
    return {
      armed: Promise.resolve(),
      release: () => {
        // A timer that nobody clears would keep the process from ending.
        if (isSettled) return;
        timer = setTimeout(() => {
          settle({ kind: "indeterminate", reason: "timeout" });
          stream.close();
        }, options.timeoutMs);
        stream.end(body.subarray(-1));
      },
      abort: () => {
        settle({ kind: "indeterminate", reason: "aborted" });
        stream.close();
      },
      outcome,
    };
  }

  #stream(request: HttpRequest, bytes: number): ClientHttp2Stream {
    const headers = Object.entries(request.headers).filter(([name]) => !CONNECTION_HEADERS.has(name.toLowerCase()));
    return this.#session.request({
      ...Object.fromEntries(headers),
      ...(bytes > 0 ? { "content-length": String(bytes) } : {}),
      ":method": request.method,
      ":path": joinPath(this.#base, request.path),
    });
  }

  #lost(): Outcome {
    const code = (this.#failure as NodeJS.ErrnoException | null)?.code;
    if (code === "ECONNREFUSED") return { kind: "refused", reason: code };
    return { kind: "indeterminate", reason: "closed" };
  }

  [Symbol.dispose](): void {
    this.#session.destroy();
  }
}

async function readAnswer(stream: ClientHttp2Stream, headers: IncomingHttpHeaders): Promise<Outcome> {
  const reader = new AnswerReader();
  try {
    for await (const chunk of stream) {
      if (!reader.add(chunk as Buffer)) return { kind: "indeterminate", reason: "oversized" };
    }
  } catch {
    return { kind: "indeterminate", reason: "truncated" };
  }
  return { kind: "responded", status: Number(headers[":status"]), headers: joined(headers), body: reader.body() };
}

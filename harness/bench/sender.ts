/**
 * Sends the requests of a bench over connections that are kept open, as a client in production does. It knows
 * nothing of time and pace. The only file of the harness that sends with undici: it has the parser of `node:http`,
 * and takes two thirds of its time.
 *
 * Every connection is a client of its own that carries one request at a time, so that nothing is ever sent twice:
 * a request that was not written when its connection closed may still go over a new one, a written one may not.
 */
import { Client, type Dispatcher, errors } from "undici";
import { AnswerReader, CONNECT_MS, joined, joinPath, lossOf, malformed } from "../burst/exchange.ts";
import type { Headers, HttpRequest, Outcome } from "../operation.ts";

/** How long a connection may be idle where the target does not say. Under load none is, for long. */
const IDLE_MS = 60_000;

export class Sender implements AsyncDisposable {
  readonly #connections = new Map<string, Connections>();
  readonly #timeoutMs: number;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Never rejects. */
  send(base: URL, request: HttpRequest): Promise<Outcome> {
    let connections = this.#connections.get(base.href);
    if (connections === undefined) {
      connections = new Connections(base);
      this.#connections.set(base.href, connections);
    }
    return connections.send(request, this.#timeoutMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#connections.values()].map((each) => each[Symbol.asyncDispose]()));
  }
}

/** All connections to one base. */
class Connections implements AsyncDisposable {
  readonly #origin: string;
  readonly #path: string;
  readonly #open = new Set<Client>();
  /** The one that was used last is used next: few are warm instead of many cold. */
  readonly #free: Client[] = [];

  constructor(base: URL) {
    this.#origin = base.origin;
    this.#path = joinPath(base, "");
  }

  send({ method, path, headers, body }: HttpRequest, timeoutMs: number): Promise<Outcome> {
    const client = this.#free.pop() ?? this.#opened();
    const following = new Following(this, client, timeoutMs);
    client.dispatch({ method, path: this.#path + path, headers, body }, following);
    return following.outcome;
  }

  /** The connection can carry another request. */
  release(client: Client): void {
    this.#free.push(client);
  }

  /** Nobody knows what would still come over it. */
  async close(client: Client): Promise<void> {
    this.#open.delete(client);
    await client.destroy();
  }

  #opened(): Client {
    const client = new Client(this.#origin, {
      pipelining: 1,
      connectTimeout: CONNECT_MS,
      keepAliveTimeout: IDLE_MS,
      // The limit of an attempt is one for the whole of it.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#open.add(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#free.length = 0;
    await Promise.all([...this.#open].map((client) => this.close(client)));
  }
}

/** One request from its dispatch to its outcome. */
class Following implements Dispatcher.DispatchHandler {
  readonly outcome: Promise<Outcome>;
  readonly #connections: Connections;
  readonly #client: Client;
  readonly #reader = new AnswerReader();
  readonly #clock: NodeJS.Timeout;
  #resolve: (outcome: Outcome) => void = () => undefined;
  #isSettled = false;
  #isWritten = false;
  #status: number | null = null;
  #headers: Headers = {};

  constructor(connections: Connections, client: Client, timeoutMs: number) {
    this.#connections = connections;
    this.#client = client;
    this.#clock = setTimeout(Following.#late, timeoutMs, this, timeoutMs);
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** What was not written by now never will be. */
  static #late(following: Following, timeoutMs: number): void {
    following.#lose(
      following.#isWritten
        ? { kind: "indeterminate", reason: "timeout" }
        : { kind: "refused", reason: `no connection within ${timeoutMs} ms` },
    );
  }

  /** Right before the request is written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isWritten) {
      // undici would send again what it believes harmless; here every attempt is known, or is none.
      controller.abort(new Error("a request is written once"));
      return;
    }
    this.#isWritten = true;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: NodeJS.Dict<string | string[]>): void {
    // Interim answers come before it.
    if (status < 200) return;
    this.#status = status;
    this.#headers = joined(headers);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#reader.add(chunk)) this.#lose({ kind: "indeterminate", reason: "oversized" });
  }

  onResponseEnd(): void {
    if (this.#isSettled) return;
    this.#settle({ kind: "responded", status: this.#status ?? 0, headers: this.#headers, body: this.#reader.body() });
    this.#connections.release(this.#client);
  }

  onResponseError(_: Dispatcher.DispatchController, error: NodeJS.ErrnoException): void {
    this.#lose(this.#isWritten ? this.#lossFrom(error) : refusedBy(error));
  }

  #settle(outcome: Outcome): void {
    this.#isSettled = true;
    clearTimeout(this.#clock);
    this.#resolve(outcome);
  }

  /** The first outcome counts: what the closing of the connection says of the request says nothing new. */
  #lose(outcome: Outcome): void {
    if (this.#isSettled) return;
    this.#settle(outcome);
    void this.#connections.close(this.#client);
  }

  #lossFrom(error: NodeJS.ErrnoException): Outcome {
    const isBroken = error instanceof errors.HTTPParserError && !error.message.includes("EOF");
    if (isBroken || error instanceof errors.HeadersOverflowError) return malformed(error);
    if (this.#status !== null) return { kind: "indeterminate", reason: "truncated" };
    // Two lengths that differ are told as a length that the body does not have.
    if (error instanceof errors.ResponseContentLengthMismatchError) return malformed(error);
    if (error.message === "bad response") return malformed(new Error("a 100 Continue that nobody asked for"));
    return { kind: "indeterminate", reason: lossOf(error) };
  }
}

/** Nothing was written. undici's own codes say less than its messages. */
function refusedBy({ code, message }: NodeJS.ErrnoException): Outcome {
  return { kind: "refused", reason: code === undefined || code.startsWith("UND_") ? message : code };
}

/**
 * Sends the requests of a bench over connections that are kept open, as a client in production does. It knows
 * nothing of time and pace; another way to send takes its place here.
 */
import { type ClientRequest, Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { joinPath, outcomeOfError, readAnswer } from "../burst/exchange.ts";
import { Settlement } from "../burst/settlement.ts";
import type { HttpRequest, Outcome } from "../operation.ts";

export class Sender implements AsyncDisposable {
  readonly #plain = new PlainAgent({ keepAlive: true, noDelay: true });
  readonly #tls = new TlsAgent({ keepAlive: true, noDelay: true });
  readonly #timeoutMs: number;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Never rejects. */
  send(base: URL, request: HttpRequest): Promise<Outcome> {
    const body = Buffer.from(request.body);
    const isTls = base.protocol === "https:";
    const options = {
      agent: isTls ? this.#tls : this.#plain,
      host: base.hostname.replace(/^\[|\]$/g, ""),
      port: base.port || (isTls ? 443 : 80),
      method: request.method,
      path: joinPath(base, request.path),
      headers: { ...request.headers, ...(body.length > 0 ? { "content-length": body.length } : {}) },
    };
    let client: ClientRequest;
    try {
      client = isTls ? tlsRequest(options) : plainRequest(options);
    } catch (error) {
      // Such as a header that cannot be written.
      const reason = error instanceof Error ? error.message : String(error);
      return Promise.resolve({ kind: "refused", reason });
    }
    const outcome = this.#follow(client);
    client.end(body);
    return outcome;
  }

  #follow(client: ClientRequest): Promise<Outcome> {
    let isAnswered = false;
    let isConnected = false;
    let failure: NodeJS.ErrnoException | null = null;
    // An answer that was read to its end leaves its connection open; whatever else ends the exchange, closes it.
    const settlement = new Settlement(() => {
      if (!isAnswered || failure !== null) client.destroy();
    });
    client.once("socket", (socket) => {
      if (socket.connecting) socket.once("connect", () => (isConnected = true));
      else isConnected = true;
    });
    client.once("response", (response) => {
      isAnswered = true;
      void readAnswer(response, undefined, () => failure).then((outcome) => settlement.settle(outcome));
    });
    client.on("error", (error: NodeJS.ErrnoException) => {
      failure = error;
      if (!isAnswered) settlement.settle(outcomeOfError(error, isConnected));
    });
    client.once("close", () => {
      if (!isAnswered) settlement.settle(outcomeOfError(new Error("closed"), isConnected));
    });
    settlement.startClock(this.#timeoutMs);
    return settlement.outcome.finally(() => {
      if (!client.destroyed && !client.writableFinished) client.destroy();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#plain.destroy();
    this.#tls.destroy();
  }
}

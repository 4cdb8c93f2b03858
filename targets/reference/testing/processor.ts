/**
 * A processor for tests: a real HTTP server with its books in memory. It honours keys, answers the status
 * query, and misbehaves in the next calls for a reference as it was told.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** Before or after the charge is in the books: a 5xx, no answer at all, a lost connection, half an answer. */
export type Behaviour =
  | "decline"
  | "fail-before"
  | "fail-after"
  | "stall-before"
  | "stall-after"
  | "reset-after"
  | "half-an-answer";

interface Charge {
  readonly id: string;
  readonly status: "succeeded" | "declined";
  readonly amount: string;
  readonly currency: string;
  readonly reference: string;
}

interface Call {
  readonly kind: "charge" | "query";
  readonly key: string;
}

export class Processor implements AsyncDisposable {
  readonly url: string;
  #server: Server;
  readonly #charges = new Map<string, { readonly body: string; readonly charge: Charge }>();
  readonly #behaviours = new Map<string, Behaviour[]>();
  readonly #calls: Call[] = [];
  /** Status queries are answered with a 5xx. */
  isMute = false;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#listen();
  }

  static async start(): Promise<Processor> {
    return new Processor(await listening(0));
  }

  /** Treats the next calls for the reference so, in order; later ones as usual. */
  tell(reference: string, ...behaviours: Behaviour[]): void {
    this.#behaviours.set(reference, behaviours);
  }

  chargesOf(reference: string): Charge[] {
    return [...this.#charges.values()].map(({ charge }) => charge).filter((charge) => charge.reference === reference);
  }

  /** Everything that was asked with a key, in order. */
  callsWith(key: string): Call["kind"][] {
    return this.#calls.filter((call) => call.key === key).map(({ kind }) => kind);
  }

  /** From now on connections are refused. */
  async stop(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async resume(): Promise<void> {
    this.#server = await listening(Number(new URL(this.url).port));
    this.#listen();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await this.stop();
  }

  #listen(): void {
    this.#server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      void this.#answer(request, response);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "GET") {
      this.#query(new URL(request.url ?? "", this.url).searchParams.get("key") ?? "", response);
    } else this.#charge(String(request.headers["idempotency-key"]), await text(request), response);
  }

  #query(key: string, response: ServerResponse): void {
    this.#calls.push({ kind: "query", key });
    const known = this.#charges.get(key);
    if (this.isMute) send(response, 503, {});
    else send(response, known === undefined ? 404 : 200, known?.charge ?? {});
  }

  #charge(key: string, body: string, response: ServerResponse): void {
    this.#calls.push({ kind: "charge", key });
    const { reference, amount, currency } = JSON.parse(body);
    const behaviour = this.#behaviours.get(reference)?.shift();
    if (behaviour === "stall-before") return;
    const known = this.#charges.get(key);
    if (behaviour === "fail-before") send(response, 503, {});
    else if (known !== undefined && known.body !== body) send(response, 422, {});
    else {
      const status = behaviour === "decline" ? "declined" : "succeeded";
      const charge = known?.charge ?? { id: `ch_${randomUUID()}`, status, amount, currency, reference };
      this.#charges.set(key, { body, charge });
      answer(response, charge, behaviour);
    }
  }
}

function answer(response: ServerResponse, charge: Charge, behaviour: Behaviour | undefined): void {
  switch (behaviour) {
    case "stall-after":
      break;
    case "fail-after":
      send(response, 500, {});
      break;
    case "reset-after":
      response.destroy();
      break;
    case "half-an-answer":
      response.writeHead(201, { "content-length": "1000" }).write("{");
      break;
    default:
      send(response, charge.status === "declined" ? 402 : 201, charge);
  }
}

async function listening(port: number): Promise<Server> {
  const server = createServer();
  await once(server.listen(port, "127.0.0.1"), "listening");
  return server;
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

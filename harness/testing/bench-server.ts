/** An order API with a key layer and a way around it, as small as can be, for tests of the bench. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Target } from "../target.ts";
import { parseTarget } from "../target-file/target-file.ts";

export interface BenchServerOptions {
  readonly name?: string;
  /** Every n-th order is acknowledged and lost. */
  readonly losesEvery?: number;
  /** From this order on nobody gets an answer for so long, once. */
  readonly stalls?: { readonly atOrder: number; readonly ms: number };
  /** One order after another, each taking so long. */
  readonly oneByOneMs?: number;
  readonly hasBaseline?: boolean;
}

/** Long enough that a busy machine does not make conflicts come too late. */
const SLOW_MS = 800;

export class BenchServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #options: BenchServerOptions;
  readonly #ledger: { readonly operation: string }[] = [];
  readonly #answers = new Map<string, { readonly text: string; answer: string | null }>();
  #orders = 0;
  #queue: Promise<unknown> = Promise.resolve();
  #stalled: Promise<unknown> = Promise.resolve();

  private constructor(options: BenchServerOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(options: BenchServerOptions = {}): Promise<BenchServer> {
    const server = new BenchServer(options);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  /** The target file, as an object. */
  get file(): object {
    const { name = "tested", hasBaseline = true } = this.#options;
    const { port } = this.#server.address() as AddressInfo;
    return {
      name,
      urls: [`http://127.0.0.1:${port}`],
      operations: {
        create: {
          request: { method: "POST", path: "/orders", body: { amount: 1, reference: "${operation}" } },
          success: [201],
          outcome: ["/amount"],
          slow: { headers: { "x-slow": "yes" }, ms: SLOW_MS },
          ...(hasBaseline ? { baseline: { path: "/plain" } } : {}),
        },
      },
      contract: { inFlight: { retryAfter: "optional" } },
      effects: { http: "GET /ledger", rows: "/rows", columns: { operation: "/operation" } },
    };
  }

  get target(): Target {
    return parseTarget(
      this.file,
      ".",
      (complaints) => new Error(complaints.map(({ message }) => message).join()) as never,
    );
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST") return send(response, 200, JSON.stringify({ rows: this.#ledger }));
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    await this.#stalled;
    const key = request.headers["idempotency-key"];
    if (request.url === "/plain") return send(response, 201, await this.#order(text));
    if (typeof key !== "string") return send(response, 400, "{}");
    const known = this.#answers.get(key);
    if (known !== undefined && known.text !== text) return send(response, 422, "{}");
    if (known?.answer === null) return send(response, 409, "{}");
    if (known !== undefined) return send(response, 201, known.answer ?? "", { "idempotency-replayed": "true" });
    const record: { text: string; answer: string | null } = { text, answer: null };
    this.#answers.set(key, record);
    if (request.headers["x-slow"] === "yes") await sleep(SLOW_MS);
    record.answer = await this.#order(text);
    send(response, 201, record.answer);
  }

  async #order(text: string): Promise<string> {
    const { losesEvery, stalls, oneByOneMs } = this.#options;
    this.#orders += 1;
    const number = this.#orders;
    if (stalls?.atOrder === number) this.#stalled = sleep(stalls.ms);
    await this.#stalled;
    if (oneByOneMs !== undefined) {
      this.#queue = this.#queue.then(() => sleep(oneByOneMs));
      await this.#queue;
    }
    const isLost = losesEvery !== undefined && number % losesEvery === 0;
    if (!isLost) this.#ledger.push({ operation: (JSON.parse(text) as { reference: string }).reference });
    return JSON.stringify({ id: number });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

function send(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(text);
}

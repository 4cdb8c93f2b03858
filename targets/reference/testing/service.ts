/** One replica of the service for tests: the real application on a database and a pool of its own. */
import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { type AppOptions, buildApp } from "../app.ts";
import { openPool } from "../pool.ts";
import type { Gate } from "./gate.ts";

export interface ServiceOptions extends Partial<AppOptions> {
  readonly poolSize?: number;
  /** Held by this replica's handlers; opened when it is closed, so that a failed test does not hang. */
  readonly gate?: Gate;
}

export interface Sent {
  /** Null: without a key. */
  readonly key: string | null;
  /** An object is sent as JSON, a text as it is. */
  readonly body: object | string;
  readonly path?: string;
  readonly caller?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isReplay: boolean;
}

export class Service implements AsyncDisposable {
  readonly app: FastifyInstance;
  readonly pool: pg.Pool;
  readonly #gate: Gate | undefined;

  private constructor(app: FastifyInstance, pool: pg.Pool, gate: Gate | undefined) {
    this.app = app;
    this.pool = pool;
    this.#gate = gate;
  }

  /** Leases and retention are long and the cleanup is off, so that nothing ends unless the test ends it. */
  static async open(databaseUrl: string, options: ServiceOptions = {}): Promise<Service> {
    const { poolSize = 10, leaseMs = 60_000 } = options;
    const pool = openPool({ databaseUrl, poolSize, leaseMs });
    const app = await buildApp({
      pool,
      callers: { "alice-token": "alice", "bob-token": "bob" },
      leaseMs,
      retentionMs: 3_600_000,
      cleanUpEveryMs: 3_600_000,
      workMs: 0,
      lab: true,
      failpointsUrl: null,
      replica: "",
      processorUrl: null,
      processorTimeoutMs: 10_000,
      reconcileTries: 3,
      keyStore: "table",
      way: "two-transactions",
      http2: false,
      logLevel: "silent",
      ...options,
    });
    return new Service(app, pool, options.gate);
  }

  async send({ key, body, path = "/orders", caller = "alice", headers = {} }: Sent): Promise<Answer> {
    const answer = await this.app.inject({
      method: "POST",
      url: path,
      headers: { ...headersOf(key, caller), ...headers },
      payload: typeof body === "string" ? body : JSON.stringify(body),
    });
    return {
      status: answer.statusCode,
      headers: Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value)])),
      body: answer.body,
      isReplay: answer.headers["idempotency-replayed"] === "true",
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#gate?.open();
    await this.app.close();
    await this.pool.end();
  }
}

export function headersOf(key: string | null, caller = "alice"): Record<string, string> {
  return {
    "content-type": "application/json",
    authorization: `Bearer ${caller}-token`,
    ...(key === null ? {} : { "idempotency-key": key }),
  };
}

/** An order that the ledger shows under the name of its key. */
export function orderNamed(key: string, changes: object = {}): object {
  return { amount: 1999, currency: "usd", item: "book", reference: key, ...changes };
}

/** The headers of an answer that must be the same on every replay. */
export function promised({ status, headers, body }: Answer): object {
  return { status, contentType: headers["content-type"], location: headers["location"], body };
}

/**
 * One request on one connection of its own, from opening to outcome. Single attempts and bursts go through
 * here alike; only the moment of the release differs.
 */

import { createHash } from "node:crypto";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Gate } from "../event.ts";
import type { Body, Headers, HttpRequest, IndeterminateReason, Outcome } from "../operation.ts";
import { GatedSocket } from "./gated-socket.ts";

/** Longest that opening a connection may take. */
const CONNECT_MS = 5_000;
/** An answer beyond this is not read on; no order or payment API answers with more. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** As much of an answer as the history keeps; longer ones are compared by digest. */
const RECORDED_BYTES_MAX = 16 * 1024;

export interface Exchange {
  /** Everything but the held bytes is on its way, or the exchange already has its outcome. */
  readonly armed: Promise<void>;
  /** Writes the held bytes. */
  release(): void;
  /** The client hangs up. */
  abort(): void;
  readonly outcome: Promise<Outcome>;
}

export interface ExchangeOptions {
  readonly gate: Gate;
  /** From the release to the end of the answer. */
  readonly timeoutMs: number;
  /** As much of the answer as is read and kept whole; default: what the history records. */
  readonly bytesMax?: number;
}

/** Opens a connection, writes the request up to the gate and waits there. Never rejects. */
export function openExchange(base: URL, request: HttpRequest, options: ExchangeOptions): Exchange {
  let resolveOutcome: (outcome: Outcome) => void;
  const outcome = new Promise<Outcome>((resolve) => {
    resolveOutcome = resolve;
  });
  let timer: NodeJS.Timeout | undefined;
  let isSettled = false;
  const connection = connectTo(base);
  const settle = (outcome: Outcome): void => {
    isSettled = true;
    clearTimeout(timer);
    resolveOutcome(outcome);
    connection.destroy();
  };
  let isConnected = false;
  const socket = new GatedSocket(connection);
  connection.setNoDelay(true);
  connection.setTimeout(CONNECT_MS, () => {
    if (!isConnected) settle({ kind: "refused", reason: `no connection within ${CONNECT_MS} ms` });
  });

  const connected = new Promise<void>((resolve) => {
    connection.once(base.protocol === "https:" ? "secureConnect" : "connect", () => {
      isConnected = true;
      connection.setTimeout(0);
      resolve();
    });
  });
  const client = startRequest(base, request, socket);
  let isAnswered = false;
  client.on("response", (response) => {
    isAnswered = true;
    void readAnswer(response, options.bytesMax).then(settle);
  });
  // Once an answer has begun, its reader says how it ended.
  client.on("error", (error: NodeJS.ErrnoException) => !isAnswered && settle(outcomeOfError(error, isConnected)));
  client.on("close", () => !isAnswered && settle({ kind: "indeterminate", reason: "closed" }));
  const written = new Promise<void>((resolve) => client.once("finish", resolve));

  const armed = Promise.race([Promise.all([connected, written]).then(() => socket.arm(options.gate)), outcome]).then(
    () => undefined,
    () => undefined,
  );

  return {
    armed,
    release: () => {
      // A timer that nobody clears would keep the process from ending.
      if (isSettled) return;
      timer = setTimeout(() => settle({ kind: "indeterminate", reason: "timeout" }), options.timeoutMs);
      socket.release();
    },
    abort: () => settle({ kind: "indeterminate", reason: "aborted" }),
    outcome,
  };
}

function connectTo(base: URL): Socket {
  const host = base.hostname.replace(/^\[|\]$/g, "");
  if (base.protocol !== "https:") return connectPlain(Number(base.port || 80), host);
  return connectTls({ host, port: Number(base.port || 443), servername: host, ALPNProtocols: ["http/1.1"] });
}

function startRequest(base: URL, request: HttpRequest, socket: GatedSocket): ClientRequest {
  const body = Buffer.from(request.body);
  const client = httpRequest({
    createConnection: () => socket,
    host: base.hostname,
    port: base.port,
    method: request.method,
    path: joinPath(base, request.path),
    headers: { ...request.headers, ...(body.length > 0 ? { "content-length": body.length } : {}) },
  });
  client.end(body);
  return client;
}

/** The path of an attempt below the path of the target's URL. */
export function joinPath(base: URL, path: string): string {
  return base.pathname.replace(/\/$/, "") + path;
}

async function readAnswer(response: IncomingMessage, bytesMax: number | undefined): Promise<Outcome> {
  const reader = new AnswerReader(bytesMax);
  try {
    for await (const chunk of response) {
      if (!reader.add(chunk as Buffer)) return { kind: "indeterminate", reason: "oversized" };
    }
  } catch {
    return { kind: "indeterminate", reason: "truncated" };
  }
  if (!response.complete) return { kind: "indeterminate", reason: "truncated" };
  return {
    kind: "responded",
    status: response.statusCode ?? 0,
    headers: joined(response.headers),
    body: reader.body(),
  };
}

/** Collects an answer's body up to the limit. */
export class AnswerReader {
  readonly #chunks: Buffer[] = [];
  readonly #readMax: number;
  readonly #recordMax: number;
  #bytes = 0;

  /** With a limit of its own an answer is kept whole up to it; else the history's limits hold. */
  constructor(bytesMax?: number) {
    this.#readMax = bytesMax ?? ANSWER_BYTES_MAX;
    this.#recordMax = bytesMax ?? RECORDED_BYTES_MAX;
  }

  /** False once the limit is passed. */
  add(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#readMax) return false;
    this.#chunks.push(chunk);
    return true;
  }

  body(): Body {
    const bytes = Buffer.concat(this.#chunks);
    const text = bytes.toString("utf8");
    const isWhole = bytes.length <= this.#recordMax && Buffer.from(text).equals(bytes);
    if (isWhole) return { text, bytes: bytes.length };
    const digest = createHash("sha256").update(bytes).digest("hex");
    return { text: bytes.subarray(0, this.#recordMax).toString("utf8"), bytes: bytes.length, digest };
  }
}

export function joined(headers: NodeJS.Dict<string | string[] | number>): Headers {
  const entries = Object.entries(headers).filter(([name, value]) => value !== undefined && !name.startsWith(":"));
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)]),
  );
}

export function outcomeOfError(error: NodeJS.ErrnoException, isConnected: boolean): Outcome {
  const code = error.code ?? "";
  if (!isConnected) return { kind: "refused", reason: code || error.message };
  if (code.startsWith("HPE_")) return { kind: "indeterminate", reason: "malformed", detail: error.message };
  return { kind: "indeterminate", reason: lossOf(error, code) };
}

function lossOf(error: Error, code: string): IndeterminateReason {
  if (code === "ECONNRESET" && error.message !== "socket hang up") return "reset";
  return code === "EPIPE" ? "reset" : "closed";
}

/**
 * One request on one connection of its own, from opening to outcome. Single attempts and bursts go through
 * here alike; only the moment of the release differs.
 */

import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Gate } from "../event.ts";
import type { Body, Headers, HttpRequest, IndeterminateReason, Outcome } from "../operation.ts";
import { GatedSocket } from "./gated-socket.ts";
import { Settlement } from "./settlement.ts";

/** Longest that opening a connection may take. */
export const CONNECT_MS = 5_000;
/** An answer beyond this is not read on; no order or payment API answers with more. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** As much of an answer as the history keeps; longer ones are compared by digest. */
const RECORDED_BYTES_MAX = 16 * 1024;

export interface Exchange {
  /** Everything but the held bytes and the one before them is on its way, or the exchange already has its outcome. */
  readonly armed: Promise<void>;
  /** Writes the held bytes, and from then on waits no longer than the limit. */
  release(): void;
  /** Wakes the target, right before a burst is let go. The held bytes stay. */
  rouse(): void;
  /** The first half of a release: the write and nothing else. A burst does all of these before any second half. */
  letGo(): void;
  /** The second half. */
  startClock(): void;
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

/** Opens a connection, writes the request up to the gate and waits there. Neither throws nor rejects. */
export function openExchange(base: URL, request: HttpRequest, options: ExchangeOptions): Exchange {
  const connection = connectTo(base);
  const socket = new GatedSocket(connection);
  const settlement = new Settlement(() => connection.destroy());
  const written = send(base, request, socket);
  const opened = open(base, connection, settlement);
  if (written instanceof Error) settlement.settle({ kind: "refused", reason: written.message });
  else receive(written, opened, settlement, options.bytesMax);
  return exchangeOf(settlement, options, {
    armed: arm(written, opened, socket, options.gate, settlement),
    rouse: () => socket.rouse(),
    letGo: () => socket.release(),
  });
}

/** What HTTP/1.1 and HTTP/2 have in common once the request stands at the gate. */
export function exchangeOf(
  settlement: Settlement,
  { timeoutMs }: ExchangeOptions,
  own: Pick<Exchange, "armed" | "rouse" | "letGo">,
): Exchange {
  const startClock = () => settlement.startClock(timeoutMs);
  return {
    ...own,
    startClock,
    release: () => {
      own.letGo();
      startClock();
    },
    abort: () => settlement.settle({ kind: "indeterminate", reason: "aborted" }),
    outcome: settlement.outcome,
  };
}

function connectTo(base: URL): Socket {
  const host = base.hostname.replace(/^\[|\]$/g, "");
  if (base.protocol !== "https:") return connectPlain({ host, port: Number(base.port || 80), noDelay: true });
  return connectTls({
    host,
    port: Number(base.port || 443),
    // An address is no server name (RFC 6066 section 3).
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: ["http/1.1"],
  }).setNoDelay(true);
}

/** A connection on its way; one that is not there in time is given up. */
interface Opened {
  readonly done: Promise<void>;
  readonly isDone: () => boolean;
}

function open(base: URL, connection: Socket, settlement: Settlement): Opened {
  let isDone = false;
  const limit = setTimeout(() => {
    settlement.settle({ kind: "refused", reason: `no connection within ${CONNECT_MS} ms` });
  }, CONNECT_MS);
  connection.once("close", () => clearTimeout(limit));
  const done = new Promise<void>((resolve) => {
    connection.once(base.protocol === "https:" ? "secureConnect" : "connect", () => {
      isDone = true;
      clearTimeout(limit);
      resolve();
    });
  });
  return { done, isDone: () => isDone };
}

/** The error of a request that cannot be written, such as one with a line break in a header. */
function send(base: URL, request: HttpRequest, socket: GatedSocket): ClientRequest | Error {
  const body = Buffer.from(request.body);
  try {
    const client = httpRequest({
      createConnection: () => socket,
      host: base.hostname,
      port: base.port,
      method: request.method,
      path: joinPath(base, request.path),
      headers: { ...request.headers, ...(body.length > 0 ? { "content-length": body.length } : {}) },
    });
    return client.end(body);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function receive(client: ClientRequest, opened: Opened, settlement: Settlement, bytesMax: number | undefined): void {
  let isAnswered = false;
  let failure: NodeJS.ErrnoException | null = null;
  client.on("response", (response) => {
    isAnswered = true;
    void readAnswer(response, bytesMax, () => failure).then((outcome) => settlement.settle(outcome));
  });
  // Once an answer has begun, its reader says how it ended.
  client.on("error", (error: NodeJS.ErrnoException) => {
    failure = error;
    if (!isAnswered) settlement.settle(outcomeOfError(error, opened.isDone()));
  });
  client.on("close", () => {
    if (!isAnswered) settlement.settle(outcomeOfError(new Error("closed"), opened.isDone()));
  });
}

/** Never rejects: what goes wrong is the outcome. */
async function arm(
  written: ClientRequest | Error,
  opened: Opened,
  socket: GatedSocket,
  gate: Gate,
  settlement: Settlement,
): Promise<void> {
  if (written instanceof Error) return;
  const finished = new Promise<void>((resolve) => written.once("finish", resolve));
  const armed = Promise.all([opened.done, finished]).then(() => socket.arm(gate));
  await Promise.race([armed, settlement.outcome]).catch(() => undefined);
}

/** The path of an attempt below the path of the target's URL. */
export function joinPath(base: URL, path: string): string {
  return base.pathname.replace(/\/$/, "") + path;
}

export async function readAnswer(
  response: IncomingMessage,
  bytesMax: number | undefined,
  failure: () => NodeJS.ErrnoException | null,
): Promise<Outcome> {
  const reader = new AnswerReader(bytesMax);
  try {
    for await (const chunk of response) {
      if (!reader.add(chunk as Buffer)) return { kind: "indeterminate", reason: "oversized" };
    }
  } catch {
    return brokenOff(failure());
  }
  if (!response.complete) return brokenOff(failure());
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

  get bytes(): number {
    return this.#bytes;
  }

  body(): Body {
    const [only] = this.#chunks;
    const bytes = only !== undefined && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks);
    // What is not UTF-8 would become another text.
    if (bytes.length <= this.#recordMax && isUtf8(bytes)) return { text: bytes.toString("utf8"), bytes: bytes.length };
    const digest = createHash("sha256").update(bytes).digest("hex");
    return { text: bytes.subarray(0, this.#recordMax).toString("utf8"), bytes: bytes.length, digest };
  }
}

export function joined(headers: NodeJS.Dict<string | string[] | number>): Headers {
  if (areJoined(headers)) return headers;
  const entries = Object.entries(headers).filter(([name, value]) => value !== undefined && !name.startsWith(":"));
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)]),
  );
}

/** Most answers repeat no header; a bench reads thousands a second. */
function areJoined(headers: NodeJS.Dict<string | string[] | number>): headers is Record<string, string> {
  for (const name in headers) if (typeof headers[name] !== "string" || name.startsWith(":")) return false;
  return true;
}

function brokenOff(failure: NodeJS.ErrnoException | null): Outcome {
  if (failure !== null && isMalformed(failure)) return malformed(failure);
  return { kind: "indeterminate", reason: "truncated" };
}

export function outcomeOfError(error: NodeJS.ErrnoException, isConnected: boolean): Outcome {
  if (!isConnected) return { kind: "refused", reason: error.code || error.message };
  if (isMalformed(error)) return malformed(error);
  return { kind: "indeterminate", reason: lossOf(error) };
}

function isMalformed({ code }: NodeJS.ErrnoException): boolean {
  return code?.startsWith("HPE_") ?? false;
}

export function malformed({ message }: Error): Outcome {
  return { kind: "indeterminate", reason: "malformed", detail: message };
}

export function lossOf({ code, message }: NodeJS.ErrnoException): IndeterminateReason {
  if (code === "ECONNRESET" && message !== "socket hang up") return "reset";
  return code === "EPIPE" ? "reset" : "closed";
}

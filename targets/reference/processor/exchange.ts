/**
 * One request to the processor over a connection of its own: one that was kept from before may be dead, and
 * then nobody could tell whether the request had arrived.
 */
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

export interface Processor {
  readonly url: string;
  /** From the start of a request to the end of its answer, in milliseconds; shorter than a lease. */
  readonly timeoutMs: number;
}

export interface Sent {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answered {
  readonly status: number;
  /** Null when the body is no JSON object. */
  readonly body: Readonly<Record<string, unknown>> | null;
}

/** No answer, or not all of one. */
export class Unanswered extends Error {
  /** False: there was never a connection, so not one byte was sent. */
  readonly mayHaveArrived: boolean;

  constructor(mayHaveArrived: boolean, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.mayHaveArrived = mayHaveArrived;
  }
}

/** Throws `Unanswered`. */
export async function exchange({ url, timeoutMs }: Processor, { path, body, ...sent }: Sent): Promise<Answered> {
  const request = httpRequest(`${url.replace(/\/$/, "")}${path}`, {
    ...sent,
    agent: false,
    signal: AbortSignal.timeout(timeoutMs),
  });
  let isConnected = false;
  request.once("socket", (socket) => socket.once("connect", () => (isConnected = true)));
  // Once its answer has begun, a failure shows where that is read; unheard here, it would end the process.
  request.on("error", () => undefined);
  try {
    request.end(body);
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return { status: response.statusCode ?? 0, body: objectOf(await text(response)) };
  } catch (error) {
    throw new Unanswered(isConnected, error);
  }
}

function objectOf(source: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(source);
    return typeof value === "object" && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

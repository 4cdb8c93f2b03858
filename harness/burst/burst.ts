/**
 * The burst driver. Every attempt is opened and written up to its gate; when all of them stand there, all
 * are released in one tick.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Gate } from "../event.ts";
import type { HttpRequest, Micros, Outcome } from "../operation.ts";
import { type Exchange, openExchange } from "./exchange.ts";
import { Http2Connection } from "./http2-exchange.ts";

/** After the kernel took the bytes the target still has to accept the connections and read the headers. */
const SETTLE_MS = 3;
/** A target that does not even take the connections is not waited for longer. */
const ARM_MS = 6_000;

export interface Shot {
  readonly replica: number;
  readonly request: HttpRequest;
  /** The client hangs up this long after the release. */
  readonly abortAfterMs: number | null;
}

export interface BurstOptions {
  readonly gate: Gate;
  readonly timeoutMs: number;
  readonly urls: readonly URL[];
  readonly http2Urls: readonly URL[];
  readonly now: () => Micros;
  /** The run is to stop: the client hangs up on what has no outcome yet. */
  readonly signal: AbortSignal;
}

export interface Landed {
  readonly releasedAt: Micros;
  readonly completedAt: Micros;
  readonly outcome: Outcome;
}

/** `onLanded` runs for each outcome as it comes. */
export async function burst(
  shots: readonly Shot[],
  options: BurstOptions,
  onLanded: (index: number, landed: Landed) => void,
): Promise<readonly Landed[]> {
  using connections = new Http2Connections(options.http2Urls);
  const exchanges = shots.map(({ request, replica }) => open(request, replica, options, connections));
  const hangUp = (): void => {
    for (const exchange of exchanges) exchange.abort();
  };
  if (options.signal.aborted) hangUp();
  options.signal.addEventListener("abort", hangUp, { once: true });
  const opened = Promise.all(exchanges.map(({ armed }) => armed)).then(() => connections.settle());
  await Promise.race([opened, sleep(ARM_MS, undefined, { ref: false })]);
  if (options.gate !== "none") await sleep(SETTLE_MS);

  const releasedAt = exchanges.map((exchange) => {
    exchange.release();
    return options.now();
  });

  // Awaited here: the connections close when this function ends.
  return await Promise.all(
    exchanges.map(async (exchange, index) => {
      const outcome = await outcomeOf(exchange, shots[index]?.abortAfterMs ?? null);
      const landed = { releasedAt: releasedAt[index] ?? 0, completedAt: options.now(), outcome };
      onLanded(index, landed);
      return landed;
    }),
  ).finally(() => options.signal.removeEventListener("abort", hangUp));
}

function open(request: HttpRequest, replica: number, options: BurstOptions, connections: Http2Connections): Exchange {
  const { gate, timeoutMs } = options;
  if (gate === "http2") return connections.to(replica).open(request, { gate, timeoutMs });
  return openExchange(at(options.urls, replica), request, { gate, timeoutMs });
}

function at(urls: readonly URL[], replica: number): URL {
  const url = urls[replica % Math.max(urls.length, 1)];
  if (url === undefined) throw new Error("the burst has no URL to go to");
  return url;
}

async function outcomeOf(exchange: Exchange, abortAfterMs: number | null): Promise<Outcome> {
  if (abortAfterMs === null) return exchange.outcome;
  const timer = setTimeout(() => exchange.abort(), abortAfterMs);
  const outcome = await exchange.outcome;
  clearTimeout(timer);
  return outcome;
}

/** One HTTP/2 connection for each replica that a burst goes to. */
class Http2Connections implements Disposable {
  readonly #urls: readonly URL[];
  readonly #open = new Map<string, Http2Connection>();

  constructor(urls: readonly URL[]) {
    this.#urls = urls;
  }

  to(replica: number): Http2Connection {
    const url = at(this.#urls, replica);
    const known = this.#open.get(url.href);
    if (known) return known;
    const connection = new Http2Connection(url);
    this.#open.set(url.href, connection);
    return connection;
  }

  async settle(): Promise<void> {
    await Promise.all([...this.#open.values()].map((connection) => connection.settle()));
  }

  [Symbol.dispose](): void {
    for (const connection of this.#open.values()) connection[Symbol.dispose]();
  }
}

/**
 * The burst driver. Every attempt is opened and written up to its gate; when all of them stand there, all
 * are released in one tick.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Gate } from "../event.ts";
import type { HttpRequest, Micros, Outcome } from "../operation.ts";
import { type Exchange, openExchange } from "./exchange.ts";
import { Http2Connection } from "./http2-exchange.ts";

/**
 * After the kernel took the bytes the target still has to accept the connections and read the headers. What
 * it has not read by the release it reads after it, and the arrivals drift apart. Nothing tells when it is
 * done; but it does about what we did to get there, so it is given as long, within these limits.
 */
const SETTLE_MS = 3;
const SETTLE_MS_EACH = 0.2;
const SETTLE_MS_MAX = 100;
/**
 * After the release we sleep, so that the target gets the processor: on a busy machine it shares ours, and what
 * we do then lies between its first arrival and its last.
 */
const YIELD_MS = 2;
/** A target that does not even take the connections is not waited for longer. */
const ARM_MS = 6_000;

export interface Shot {
  readonly replica: number;
  readonly request: HttpRequest;
  /** Instead of the replica's own. */
  readonly url?: URL;
  /** The client hangs up this long after the release. */
  readonly abortAfterMs: number | null;
}

export interface BurstOptions {
  readonly gate: Gate;
  readonly timeoutMs: number;
  readonly urls: readonly URL[];
  readonly http2Urls: readonly URL[];
  readonly now: () => Micros;
  /** The run is to stop: the clients hang up. */
  readonly signal?: AbortSignal;
}

export interface Landed {
  readonly releasedAt: Micros;
  readonly completedAt: Micros;
  readonly outcome: Outcome;
}

/** `onLanded` runs once for each outcome, as it comes. Nothing is left open, whatever happens. */
export async function burst(
  shots: readonly Shot[],
  options: BurstOptions,
  onLanded: (index: number, landed: Landed) => void,
): Promise<readonly Landed[]> {
  using connections = new Http2Connections(options.http2Urls);
  const openedAt = performance.now();
  const exchanges = shots.map((shot) => open(shot, options, connections));
  const hangUp = (): void => {
    for (const exchange of exchanges) exchange.abort();
  };
  const stop = (): void => {
    hangUp();
    // A connection that still waits for its round trip would be waited for.
    connections[Symbol.dispose]();
  };
  options.signal?.addEventListener("abort", stop);
  if (options.signal?.aborted) stop();
  const hangUps = new Map<number, NodeJS.Timeout>();
  try {
    await atTheGate(exchanges, connections);
    if (options.gate !== "none") await sleep(settleMs(exchanges.length, performance.now() - openedAt));
    const completedAt = exchanges.map(({ outcome }) => outcome.then(() => options.now()));
    const releasedAt = releaseAll(exchanges, options.now);
    startHangUps(hangUps, shots, exchanges);
    if (exchanges.length > 1) await sleep(YIELD_MS);
    for (const exchange of exchanges) exchange.startClock();
    // Awaited here: what is still open closes when this function ends.
    return await Promise.all(
      exchanges.map(async (exchange, index) => {
        const outcome = await exchange.outcome;
        clearTimeout(hangUps.get(index));
        const landed = landedOf(outcome, releasedAt[index] ?? 0, (await completedAt[index]) ?? 0);
        onLanded(index, landed);
        return landed;
      }),
    );
  } finally {
    options.signal?.removeEventListener("abort", stop);
    for (const timer of hangUps.values()) clearTimeout(timer);
    hangUp();
  }
}

function open({ request, replica, url }: Shot, options: BurstOptions, connections: Http2Connections): Exchange {
  const { gate, timeoutMs } = options;
  if (gate === "http2") return connections.to(replica).open(request, { gate, timeoutMs });
  return openExchange(url ?? at(options.urls, replica), request, { gate, timeoutMs });
}

async function atTheGate(exchanges: readonly Exchange[], connections: Http2Connections): Promise<void> {
  const limit = new AbortController();
  const armed = Promise.all([...exchanges.map(({ armed }) => armed), connections.settle()]);
  const late = sleep(ARM_MS, undefined, { signal: limit.signal }).catch(() => undefined);
  await Promise.race([armed, late]).finally(() => limit.abort());
}

function settleMs(exchanges: number, armingMs: number): number {
  return Math.min(Math.max(SETTLE_MS + exchanges * SETTLE_MS_EACH, armingMs), SETTLE_MS_MAX);
}

/** One tick: between two writes of the release there is nothing but a look at the clock. */
function releaseAll(exchanges: readonly Exchange[], now: () => Micros): readonly Micros[] {
  const releasedAt = new Array<Micros>(exchanges.length);
  for (const exchange of exchanges) exchange.rouse();
  for (const [index, exchange] of exchanges.entries()) {
    exchange.letGo();
    releasedAt[index] = now();
  }
  return releasedAt;
}

/** `timers` holds them by the index of their shot. */
function startHangUps(
  timers: Map<number, NodeJS.Timeout>,
  shots: readonly Shot[],
  exchanges: readonly Exchange[],
): void {
  for (const [index, exchange] of exchanges.entries()) {
    const afterMs = shots[index]?.abortAfterMs ?? null;
    if (afterMs === null) continue;
    const timer = setTimeout(() => exchange.abort(), afterMs);
    timers.set(index, timer);
  }
}

/** An answer that came before the release completed nothing before it was let go. */
function landedOf(outcome: Outcome, releasedAt: Micros, completedAt: Micros): Landed {
  return { releasedAt, completedAt: Math.max(completedAt, releasedAt), outcome };
}

function at(urls: readonly URL[], replica: number): URL {
  const url = urls[replica % Math.max(urls.length, 1)];
  if (url === undefined) throw new Error("the burst has no URL to go to");
  return url;
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

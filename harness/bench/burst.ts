/**
 * How close together the duplicates of a burst arrive: our gates beside autocannon and undici, against one
 * warm target, in one run, round by round in an order that changes. `npm run bench:burst`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { burst } from "../burst/burst.ts";
import type { Gate } from "../event.ts";
import type { HttpRequest } from "../operation.ts";
import { type Random, randomOf } from "../random.ts";
import { autocannonBurst } from "./autocannon.ts";
import { BurstTarget } from "./burst-target.ts";
import type { Release } from "./segment-relay.ts";
import { UndiciBurst } from "./undici.ts";

const DUPLICATES = 50;
/** Compiles client and target before anything counts. */
const WARM_ROUNDS = 20;
/** Bursts through the relay, whose segments are counted; not timed. */
const COUNTED_BURSTS = 20;
const TIMEOUT_MS = 5_000;
/** Lets the connections of the way before close. */
const PAUSE_MS = 5;

const REQUEST: HttpRequest = {
  method: "POST",
  path: "/orders",
  headers: { "content-type": "application/json", "idempotency-key": "8e03978e-40d5-43dd-bc93-6894a57f9324" },
  body: JSON.stringify({ amount: 1999, currency: "usd", item: "book", reference: "duplicate" }),
};

/** A way to send duplicates. */
interface Way {
  readonly name: string;
  /** Before each burst, not counted. */
  prepare?(): Promise<void>;
  /** Resolves to the number of successes. */
  fire(): Promise<number>;
}

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "100" }, seed: { type: "string", default: "1" } },
});
const rounds = Number(values.rounds);
const random = randomOf(Number(values.seed));

await using target = await BurstTarget.start();
await using undici = new UndiciBurst(target.url("http"), DUPLICATES);
const http1 = [driverWay("last-body-byte"), driverWay("last-header-byte")] as const;
const autocannon: Way = {
  name: "autocannon",
  fire: () => autocannonBurst(target.url("http"), REQUEST, DUPLICATES),
};
const others: Way[] = [
  driverWay("http2"),
  { name: "undici Promise.all", prepare: () => undici.warm(), fire: () => undici.fire(REQUEST) },
];

const ways = [...http1, ...others, autocannon];
await spreadsOf(ways, WARM_ROUNDS);
const spreads = await spreadsOf(ways, rounds);
print(`spread of arrival of ${DUPLICATES} duplicates, ${rounds} rounds, seed ${values.seed}, milliseconds`);
print(`${"way".padEnd(20)} median    p90`);
for (const { name } of ways) print(`${name.padEnd(20)} ${millis(name, 0.5)} ${millis(name, 0.9)}`);
const segments = await segmentsOfReleases();
print(
  `http2: ${DUPLICATES} requests were released in ${segments} TCP segment(s), the most of ${COUNTED_BURSTS} bursts`,
);
const [best] = http1.map(({ name }) => name).sort((one, other) => quantile(one, 0.5) - quantile(other, 0.5));
if (best === undefined) throw new Error("no gate was measured");
print(`best plain HTTP/1.1 gate: ${best}`);
print(`ratio: ${(quantile(best, 0.5) / quantile(autocannon.name, 0.5)).toFixed(3)}`);

function driverWay(gate: Gate): Way {
  return { name: gate, fire: () => fire(gate, target.url("http2")) };
}

async function fire(gate: Gate, http2Url: URL): Promise<number> {
  const shots = Array.from({ length: DUPLICATES }, () => ({ replica: 0, request: REQUEST, abortAfterMs: null }));
  const landed = await burst(
    shots,
    {
      gate,
      timeoutMs: TIMEOUT_MS,
      urls: [target.url("http")],
      http2Urls: [http2Url],
      now: () => performance.now() * 1000,
    },
    () => undefined,
  );
  return landed.filter(({ outcome }) => outcome.kind === "responded" && outcome.status === 201).length;
}

/** Every way once in each round, in the order that the seed gives. */
async function spreadsOf(ways: readonly Way[], rounds: number): Promise<ReadonlyMap<string, readonly number[]>> {
  const spreads = new Map<string, number[]>(ways.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const way of shuffled(ways, random)) spreads.get(way.name)?.push(await spreadOf(way));
  }
  return spreads;
}

async function spreadOf(way: Way): Promise<number> {
  await way.prepare?.();
  await sleep(PAUSE_MS);
  await target.take();
  const successes = await way.fire();
  const { arrivals } = await target.take();
  if (successes !== DUPLICATES || arrivals.length !== DUPLICATES) {
    throw new Error(`${way.name}: ${successes} successes and ${arrivals.length} arrivals, expected ${DUPLICATES}`);
  }
  return Math.max(...arrivals) - Math.min(...arrivals);
}

async function segmentsOfReleases(): Promise<number> {
  let most = 0;
  for (let count = 0; count < COUNTED_BURSTS; count += 1) {
    await target.take();
    await fire("http2", target.url("relay"));
    const { release }: { release: Release } = await target.take();
    if (release.requests !== DUPLICATES) {
      throw new Error(`the relay saw ${release.requests} requests end, expected ${DUPLICATES}`);
    }
    most = Math.max(most, release.segments);
  }
  return most;
}

function shuffled<Value>(values: readonly Value[], random: Random): readonly Value[] {
  return values
    .map((value) => ({ value, order: random.next() }))
    .sort((one, other) => one.order - other.order)
    .map(({ value }) => value);
}

function quantile(name: string, share: number): number {
  const sorted = [...(spreads.get(name) ?? [])].sort((one, other) => one - other);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  if (value === undefined) throw new Error(`${name} was not measured`);
  return value;
}

function millis(name: string, share: number): string {
  return (quantile(name, share) / 1000).toFixed(2).padStart(6);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

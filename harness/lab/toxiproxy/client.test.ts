import { mkdtemp, rm } from "node:fs/promises";
import { Agent, type ClientRequest, createServer, request, type Server } from "node:http";
import { type AddressInfo, createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RawServer } from "../../testing/raw-server.ts";
import { Keeper } from "../keeper.ts";
import { accepts, freePort } from "../port.ts";
import { type Link, linksOf, type Toxiproxy, versionAt } from "./client.ts";
import type { Toxic } from "./toxic.ts";
import { startToxiproxy } from "./toxiproxy.ts";

const ANSWER = "x".repeat(5_000);
/** A machine that never had Toxiproxy builds it first. */
const BUILD_MS = 300_000;

let folder = "";
let keeper: Keeper;
let toxiproxy: Toxiproxy;
let target: Target;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-links-"));
  keeper = new Keeper();
  const options = { secrets: [], signal: new AbortController().signal, choice: "embedded", onStep: () => undefined };
  toxiproxy = await startToxiproxy(keeper, folder, options);
  target = await Target.start();
}, BUILD_MS);
afterAll(async () => {
  await target[Symbol.asyncDispose]();
  await keeper[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** A real server that knows which requests have reached it whole. */
class Target implements AsyncDisposable {
  readonly seen = new Set<string>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((incoming, answer) => {
      incoming.resume().once("end", () => {
        this.seen.add(incoming.url ?? "");
        answer.end(ANSWER);
      });
    });
  }

  static async start(): Promise<Target> {
    const started = new Target();
    await new Promise<void>((resolve) => started.#server.listen(0, "127.0.0.1", resolve));
    return started;
  }

  get upstream(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

interface Seen {
  /** A status and the bytes of the body, or the code of the error. */
  readonly client: string;
  readonly isAtTarget: boolean;
  readonly ms: number;
}

let asked = 0;

/**
 * One request over a connection of its own, given up after a while. The connection is one to be kept, or else the
 * target would close it after its answer, and a black hole for the answer would end with that.
 */
async function ask(link: Link, giveUpMs = 5_000): Promise<Seen> {
  asked += 1;
  const path = `/${asked}`;
  const agent = new Agent({ keepAlive: true });
  const began = performance.now();
  const outgoing = request({ host: link.host, port: link.port, path, method: "POST", agent });
  const client = await Promise.race([outcomeOf(outgoing), sleep(giveUpMs, "nothing")]);
  outgoing.destroy();
  agent.destroy();
  return { client, isAtTarget: target.seen.has(path), ms: performance.now() - began };
}

function outcomeOf(outgoing: ClientRequest): Promise<string> {
  return new Promise((resolve) => {
    outgoing.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    outgoing.once("response", (answer) => {
      let bytes = 0;
      answer.on("data", (piece: Buffer) => {
        bytes += piece.length;
      });
      answer.once("end", () => resolve(`${answer.statusCode} with ${bytes} bytes`));
      answer.once("error", () => resolve(`truncated, less than ${ANSWER.length} bytes: ${bytes < ANSWER.length}`));
    });
    outgoing.end("y".repeat(100));
  });
}

const PLAIN = `200 with ${ANSWER.length} bytes`;
const TRUNCATED = `truncated, less than ${ANSWER.length} bytes: true`;

/** What a client sees, whether the target saw the request, and the milliseconds it takes at least. */
const EFFECTS: readonly (readonly [Toxic, string, boolean, number])[] = [
  [{ toxic: "latency", direction: "upstream", ms: 320, jitterMs: 10 }, PLAIN, true, 300],
  [{ toxic: "latency", direction: "downstream", ms: 320, jitterMs: 10 }, PLAIN, true, 300],
  [{ toxic: "bandwidth", direction: "downstream", kilobytesPerSecond: 10 }, PLAIN, true, 300],
  [
    { toxic: "slicer", direction: "downstream", averageBytes: 500, sizeVariation: 100, delayMicros: 50_000 },
    PLAIN,
    true,
    300,
  ],
  [{ toxic: "slow-close", direction: "downstream", ms: 100 }, PLAIN, true, 0],
  [{ toxic: "timeout", direction: "upstream", ms: 300 }, "ECONNRESET", false, 295],
  [{ toxic: "timeout", direction: "downstream", ms: 300 }, "ECONNRESET", true, 295],
  [{ toxic: "timeout", direction: "upstream", ms: 0 }, "nothing", false, 0],
  [{ toxic: "timeout", direction: "downstream", ms: 0 }, "nothing", true, 0],
  [{ toxic: "limit-data", direction: "downstream", bytes: 1_000 }, TRUNCATED, true, 0],
  [{ toxic: "limit-data", direction: "upstream", bytes: 20 }, "ECONNRESET", false, 0],
  [{ toxic: "reset-peer", direction: "downstream", ms: 0 }, "ECONNRESET", true, 0],
  [{ toxic: "reset-peer", direction: "upstream", ms: 0 }, "ECONNRESET", false, 0],
];

test.each(EFFECTS.map((effect, number) => [`${effect[0].toxic} ${effect[0].direction}`, number, ...effect] as const))(
  "%s (%i) does what it is for, and healed it does nothing",
  async (_, number, toxic, client, isAtTarget, ms) => {
    const link = await toxiproxy.openLink({ name: `effect-${number}`, upstream: target.upstream });
    expect(await ask(link)).toMatchObject({ client: PLAIN, isAtTarget: true });
    const heal = await link.add(toxic);
    const seen = await ask(link, 1_000 + ms);
    expect(seen).toMatchObject({ client, isAtTarget });
    expect(seen.ms).toBeGreaterThanOrEqual(ms);
    await heal();
    const healed = await ask(link);
    expect(healed).toMatchObject({ client: PLAIN, isAtTarget: true });
    if (ms > 0) expect(healed.ms).toBeLessThan(ms);
    await link.close();
    expect(await accepts(link.port)).toBe(false);
  },
);

test("a link that is cut refuses, disconnects who is there, and is healed on the same port", async () => {
  const link = await toxiproxy.openLink({ name: "cut", upstream: target.upstream });
  const socket = createConnection(link.port, link.host);
  const closed = new Promise<boolean>((resolve) => {
    socket.on("error", () => undefined).once("close", () => resolve(true));
  });
  await new Promise((resolve) => socket.once("connect", resolve));
  const heal = await link.cut();
  expect(await Promise.race([closed, sleep(1_000, false)])).toBe(true);
  expect(await ask(link)).toMatchObject({ client: "ECONNREFUSED", isAtTarget: false });
  await heal();
  expect(await ask(link)).toMatchObject({ client: PLAIN, isAtTarget: true });
  await link.close();
});

test("two toxics of one kind are two, and each is healed alone", async () => {
  const link = await toxiproxy.openLink({ name: "two", upstream: target.upstream });
  const slow: Toxic = { toxic: "latency", direction: "downstream", ms: 250, jitterMs: 0 };
  const [first, second] = [await link.add(slow), await link.add(slow)];
  expect((await ask(link)).ms).toBeGreaterThanOrEqual(495);
  await first();
  expect((await ask(link)).ms).toBeGreaterThanOrEqual(245);
  await second();
  expect((await ask(link)).ms).toBeLessThan(245);
  await link.close();
});

test("toxics on many links at once do not touch each other", async () => {
  const names = Array.from({ length: 20 }, (_, number) => `many-${number}`);
  const links = await Promise.all(names.map((name) => toxiproxy.openLink({ name, upstream: target.upstream })));
  const reset: Toxic = { toxic: "reset-peer", direction: "downstream", ms: 0 };
  const seenBy = async (): Promise<readonly string[]> =>
    Promise.all(links.map(async (link) => (await ask(link)).client));
  const cures = await Promise.all(links.filter((_, number) => number % 2 === 0).map((link) => link.add(reset)));
  expect(await seenBy()).toEqual(names.map((_, number) => (number % 2 === 0 ? "ECONNRESET" : PLAIN)));
  await Promise.all(cures.map((heal) => heal()));
  expect(await seenBy()).toEqual(names.map(() => PLAIN));
  await Promise.all(links.map((link) => link.close()));
});

test("what is gone already needs no healing", async () => {
  const link = await toxiproxy.openLink({ name: "gone", upstream: target.upstream });
  const heal = await link.add({ toxic: "timeout", direction: "upstream", ms: 0 });
  const restore = await link.cut();
  await heal();
  await heal();
  await link.close();
  await heal();
  await restore();
  await link.close();
});

test("the server's reason is in the error", async () => {
  const link = await toxiproxy.openLink({ name: "taken", upstream: target.upstream });
  await expect(toxiproxy.openLink({ name: "taken", upstream: target.upstream })).rejects.toThrow(
    "Toxiproxy refused POST /proxies: proxy already exists (409)",
  );
  await link.close();
  await expect(link.add({ toxic: "timeout", direction: "upstream", ms: 0 })).rejects.toThrow(
    /^Toxiproxy refused POST \/proxies\/idemproof-[0-9a-f]{8}-taken\/toxics: proxy not found \(404\)$/,
  );
});

test("two runs on one server name their links alike, and each closes only its own", async () => {
  const other = linksOf({ ...toxiproxy, listenHost: "127.0.0.1", host: "127.0.0.1" });
  const link = await toxiproxy.openLink({ name: "alike", upstream: target.upstream });
  const alike = await other.openLink({ name: "alike", upstream: target.upstream });
  await other[Symbol.asyncDispose]();
  expect(await accepts(alike.port)).toBe(false);
  expect(await ask(link)).toMatchObject({ client: PLAIN });
  await link.close();
});

test("a server that hangs is an error after the time limit, in healing too", async () => {
  await using silent = await RawServer.start();
  const url = `http://127.0.0.1:${silent.port}`;
  await expect(versionAt(url, 100)).rejects.toThrow(
    `Toxiproxy at 127.0.0.1:${silent.port} did not answer GET /version within 100 ms`,
  );
});

test("a server that hangs while it is asked to heal is told: the disturbance may still be there", async () => {
  const answer = JSON.stringify({ name: "t", listen: "127.0.0.1:1", upstream: "127.0.0.1:2", enabled: true });
  const head = `HTTP/1.1 201 Created\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`;
  await using server = await RawServer.start(({ socket }, piece) => {
    if (piece.toString("latin1").startsWith("POST")) socket.write(head);
  });
  const url = `http://127.0.0.1:${server.port}`;
  const there = { url, listenHost: "127.0.0.1", host: "127.0.0.1", origin: "test", ended: () => null };
  const link = await linksOf(there, 200).openLink({ name: "t", upstream: "127.0.0.1:2" });
  await expect(link.close()).rejects.toMatchObject({
    code: "target-lost",
    message: expect.stringContaining("did not answer DELETE /proxies/t within 200 ms"),
  });
});

test("a server that has ended took its disturbances along, and what needs it says that it is lost", async () => {
  const own = new Keeper();
  const options = { secrets: [], signal: new AbortController().signal, choice: "embedded", onStep: () => undefined };
  const ending = await startToxiproxy(own, folder, options);
  const link = await ending.openLink({ name: "lost", upstream: target.upstream });
  const heal = await link.add({ toxic: "timeout", direction: "upstream", ms: 0 });
  expect(ending.ended()).toBeNull();
  await own[Symbol.asyncDispose]();
  expect(ending.ended()).toMatch(/^Toxiproxy ended with .* \(its output is in .*\)$/);
  await heal();
  await ending[Symbol.asyncDispose]();
  await expect(link.cut()).rejects.toMatchObject({
    code: "target-lost",
    message: expect.stringMatching(/^Toxiproxy at 127\.0\.0\.1:\d+ does not answer POST .* \(connect ECONNREFUSED/),
  });
});

test("what answers but is no Toxiproxy is told", async () => {
  const port = target.upstream.split(":").at(-1);
  await expect(versionAt(`http://127.0.0.1:${port}`)).rejects.toThrow(
    `what answers at 127.0.0.1:${port} is no Toxiproxy`,
  );
  await expect(versionAt(`http://127.0.0.1:${await freePort()}`)).rejects.toThrow("ECONNREFUSED");
});

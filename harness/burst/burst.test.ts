import { expect, test } from "vitest";
import type { Gate } from "../event.ts";
import type { HttpRequest } from "../operation.ts";
import { startRawHttp2 } from "../testing/raw-http2-server.ts";
import { isWhole, type RawConnection, RawServer, until } from "../testing/raw-server.ts";
import { type BurstOptions, burst, type Landed, type Shot } from "./burst.ts";

const CREATED = "HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}";
/** Long enough for a busy machine to answer in. */
const TIMEOUT_MS = 1_500;
const GATES: readonly Gate[] = ["last-body-byte", "last-header-byte", "none"];

/** What the server does with a request, by its path. */
const manners: Record<string, (connection: RawConnection) => unknown> = {
  "/answers": ({ socket }) => socket.write(CREATED),
  "/answers-later": ({ socket }) => setTimeout(() => socket.write(CREATED), 50),
  "/closes": ({ socket }) => socket.end(),
  "/resets": ({ socket }) => socket.resetAndDestroy(),
  "/cuts": ({ socket }) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"),
  "/babbles": ({ socket }) => socket.write("no HTTP at all\r\n\r\n"),
  "/stalls": () => undefined,
};

test.each(GATES)("%s: every attempt lands once, in its place, and nothing is left open", async (gate) => {
  await using server = await RawServer.start(mannered);
  const timers = countOf("Timeout");
  const paths = Array.from({ length: 56 }, (_, index) => Object.keys(manners)[index % 7] ?? "");
  const landings = new Map<number, number>();
  const landed = await fire(
    paths.map((path) => shot(path)),
    { gate, urls: [server.url] },
    (index) => landings.set(index, (landings.get(index) ?? 0) + 1),
  );
  expect([...landings.values()]).toEqual(paths.map(() => 1));
  expect(landed.map(({ outcome }, index) => [paths[index], summary(outcome)])).toEqual(
    paths.map((path) => [path, expected[path]]),
  );
  for (const { releasedAt, completedAt } of landed) expect(completedAt).toBeGreaterThanOrEqual(releasedAt);
  await untilNothingIsOpen([server]);
  expect(countOf("Timeout")).toBeLessThanOrEqual(timers);
});

const expected: Record<string, string> = {
  "/answers": "201",
  "/answers-later": "201",
  "/closes": "closed",
  "/resets": "reset",
  "/cuts": "truncated",
  "/babbles": "malformed",
  "/stalls": "timeout",
};

test("none is let go before the last one has its connection", async () => {
  let firstWholeAt = 0;
  let shakenAt = 0;
  await using quick = await RawServer.start((connection) => {
    if (!isWhole(connection.received())) return;
    firstWholeAt ||= performance.now();
    connection.socket.write(CREATED);
  });
  // Takes its time over the handshake, and then refuses it.
  await using slow = await RawServer.start(({ socket }) =>
    setTimeout(() => {
      shakenAt = performance.now();
      socket.end();
    }, 200),
  );
  const urls = [quick.url, new URL(`https://127.0.0.1:${slow.port}`)];
  const shots = [0, 0, 1, 0].map((replica) => shot("/", { replica }));
  const landed = await fire(shots, { gate: "last-body-byte", urls });
  expect(landed.map(({ outcome }) => outcome.kind)).toEqual(["responded", "responded", "refused", "responded"]);
  expect(firstWholeAt).toBeGreaterThan(shakenAt);
});

test("attempts go to the replicas that they name", async () => {
  await using one = await RawServer.start(mannered);
  await using other = await RawServer.start(mannered);
  const shots = [0, 1, 2, 3, 1].map((replica) => shot("/answers", { replica }));
  await fire(shots, { gate: "last-body-byte", urls: [one.url, other.url] });
  expect([one.connections.length, other.connections.length]).toEqual([2, 3]);
});

test("a client hangs up so long after the release, and not where the answer came before", async () => {
  await using server = await RawServer.start(mannered);
  const timers = countOf("Timeout");
  const landed = await fire(
    [
      shot("/stalls", { abortAfterMs: 100 }),
      shot("/answers", { abortAfterMs: 60_000 }),
      shot("/stalls", { abortAfterMs: 0 }),
    ],
    { gate: "last-body-byte", urls: [server.url] },
  );
  expect(landed.map(({ outcome }) => summary(outcome))).toEqual(["aborted", "201", "aborted"]);
  const [{ releasedAt, completedAt } = { releasedAt: 0, completedAt: 0 }] = landed;
  expect(completedAt - releasedAt).toBeGreaterThanOrEqual(99_000);
  await untilNothingIsOpen([server]);
  expect(countOf("Timeout")).toBeLessThanOrEqual(timers);
});

test("one replica that is down takes nothing from the others", async () => {
  await using up = await RawServer.start(mannered);
  const down = await RawServer.start();
  const { url } = down;
  await down[Symbol.asyncDispose]();
  const shots = [0, 1, 0, 1].map((replica) => shot("/answers", { replica }));
  const landed = await fire(shots, { gate: "last-header-byte", urls: [up.url, url] });
  expect(landed.map(({ outcome }) => outcome.kind)).toEqual(["responded", "refused", "responded", "refused"]);
});

test("what cannot be written down ends the burst, and nothing is left open", async () => {
  await using server = await RawServer.start(mannered);
  const timers = countOf("Timeout");
  const shots = ["/answers", "/stalls", "/stalls"].map((path) => shot(path, { abortAfterMs: 60_000 }));
  const full = () => {
    throw new Error("the disk is full");
  };
  const fired = burst(shots, { ...options, gate: "last-body-byte", timeoutMs: 60_000, urls: [server.url] }, full);
  await expect(fired).rejects.toThrow("the disk is full");
  await untilNothingIsOpen([server]);
  expect(countOf("Timeout")).toBeLessThanOrEqual(timers);
});

test("HTTP/2: one connection for each replica, and none of them stays", async () => {
  await using one = await startRawHttp2((socket) => socket.end());
  await using other = await startRawHttp2(() => undefined);
  const shots = [0, 1, 0, 1].map((replica) => shot("/", { replica }));
  const landed = await fire(shots, { gate: "http2", http2Urls: [one.url, other.url] });
  expect(landed.map(({ outcome }) => summary(outcome))).toEqual(["closed", "timeout", "closed", "timeout"]);
  expect([one.connections.length, other.connections.length]).toEqual([1, 1]);
  await untilNothingIsOpen([one, other]);
});

test("a burst of none, and one without anywhere to go", async () => {
  expect(await fire([], { gate: "http2" })).toEqual([]);
  await expect(fire([shot("/")], { gate: "none" })).rejects.toThrow("no URL");
});

const options: BurstOptions = {
  gate: "none",
  timeoutMs: TIMEOUT_MS,
  urls: [],
  http2Urls: [],
  now: () => performance.now() * 1000,
};

function fire(
  shots: readonly Shot[],
  changes: Partial<BurstOptions>,
  onLanded: (index: number, landed: Landed) => unknown = () => undefined,
): Promise<readonly Landed[]> {
  return burst(shots, { ...options, ...changes }, onLanded);
}

function shot(path: string, changes: Partial<Shot> = {}): Shot {
  const request: HttpRequest = { method: "POST", path, headers: {}, body: "{}" };
  return { replica: 0, request, abortAfterMs: null, ...changes };
}

function mannered(connection: RawConnection): void {
  const request = connection.received();
  if (!isWhole(request)) return;
  const [, path = ""] = /^POST (\S+)/.exec(request.toString()) ?? [];
  manners[path]?.(connection);
}

function summary(outcome: Landed["outcome"]): string {
  return outcome.kind === "responded" ? String(outcome.status) : outcome.reason;
}

function countOf(resource: string): number {
  return process.getActiveResourcesInfo().filter((name) => name === resource).length;
}

async function untilNothingIsOpen(servers: readonly RawServer[]): Promise<void> {
  await until("all connections are closed", () => {
    return servers.every(({ openConnections }) => openConnections === 0) && countOf("TCPSocketWrap") === 0;
  });
}

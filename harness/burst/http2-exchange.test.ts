import { execFile } from "node:child_process";
import { createServer as createHttp1 } from "node:http";
import { createSecureServer, createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Server, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { BurstTarget } from "../bench/burst-target.ts";
import type { HttpRequest, Outcome } from "../operation.ts";
import { selfSigned } from "../testing/certificate.ts";
import { frames, startRawHttp2 } from "../testing/raw-http2-server.ts";
import { RawServer, until } from "../testing/raw-server.ts";
import { burst, type Shot } from "./burst.ts";
import { Http2Connection } from "./http2-exchange.ts";

const REQUEST: HttpRequest = { method: "POST", path: "/orders", headers: { "idempotency-key": "k" }, body: "{}" };
const LONG_MS = 60_000;
const SHORT_MS = 300;

const certificate = selfSigned();
afterAll(() => certificate?.[Symbol.dispose]());

const indeterminate = (reason: string) => ({ kind: "indeterminate", reason });

/** What a server of bare frames does with a whole request, and what the outcome must be. */
const answers: readonly [name: string, reply: (socket: Socket, stream: number) => unknown, outcome: object][] = [
  [
    "a whole answer",
    (socket, id) => send(socket, frames.answer(id), frames.body(id, "all", { isLast: true })),
    { kind: "responded", status: 200, body: { text: "all", bytes: 3 } },
  ],
  [
    "a whole answer and a reset behind it",
    (socket, id) => send(socket, frames.answer(id), frames.body(id, "all", { isLast: true }), frames.reset(id, 0)),
    { kind: "responded", status: 200, body: { text: "all", bytes: 3 } },
  ],
  ["a refused stream", (socket, id) => send(socket, frames.reset(id, 7)), indeterminate("reset")],
  ["a reset with an error", (socket, id) => send(socket, frames.reset(id, 2)), indeterminate("reset")],
  ["a reset without an error", (socket, id) => send(socket, frames.reset(id, 0)), indeterminate("reset")],
  ["GOAWAY that passes the stream over", (socket) => send(socket, frames.goAway(0, 0)), indeterminate("closed")],
  ["GOAWAY with an error", (socket, id) => send(socket, frames.goAway(id, 2)), { kind: "indeterminate" }],
  [
    "GOAWAY and a close",
    (socket, id) => {
      send(socket, frames.goAway(id, 0));
      socket.end();
    },
    indeterminate("closed"),
  ],
  ["a close", (socket) => socket.end(), indeterminate("closed")],
  ["a reset of the connection", (socket) => socket.resetAndDestroy(), indeterminate("reset")],
  [
    "a cancelled body",
    (socket, id) => half(socket, id, () => send(socket, frames.reset(id, 8))),
    indeterminate("truncated"),
  ],
  [
    "a body reset with an error",
    (socket, id) => half(socket, id, () => send(socket, frames.reset(id, 2))),
    indeterminate("truncated"),
  ],
  ["a body cut by a close", (socket, id) => half(socket, id, () => socket.end()), indeterminate("truncated")],
  [
    "a body cut by a reset of the connection",
    (socket, id) => half(socket, id, () => socket.resetAndDestroy()),
    indeterminate("truncated"),
  ],
  [
    "a body cut by GOAWAY",
    (socket, id) => half(socket, id, () => send(socket, frames.goAway(id, 2))),
    indeterminate("truncated"),
  ],
];

test.each(answers)("%s", async (_, reply, expected) => {
  await using server = await startRawHttp2(reply);
  expect(await fired(server.url, LONG_MS)).toMatchObject(expected);
  await untilNothingIsOpen(server);
});

test.each<[string, (socket: Socket, stream: number) => unknown]>([
  ["nothing", () => undefined],
  ["a body that stalls", (socket, id) => half(socket, id, () => undefined)],
])("%s until the limit is a timeout", async (_, reply) => {
  await using server = await startRawHttp2(reply);
  expect(await fired(server.url, SHORT_MS)).toEqual(indeterminate("timeout"));
  await untilNothingIsOpen(server);
});

test("GOAWAY in a burst: the streams before it are answered, the others are lost, and nothing waits", async () => {
  await using server = await startRawHttp2((socket, id) => {
    if (id === 5) send(socket, frames.goAway(3, 0));
    if (id <= 3) setTimeout(() => send(socket, frames.answer(id), frames.body(id, "all", { isLast: true })), 50);
  });
  const outcomes = await firedTogether(server.url, LONG_MS, 4);
  expect(outcomes).toMatchObject([{ status: 200 }, { status: 200 }, indeterminate("closed"), indeterminate("closed")]);
});

test("interim answers, trailers and an error status are what they are", async () => {
  await using server = await http2Server((stream) => {
    stream.additionalHeaders({ ":status": 103 });
    stream.respond({ ":status": 422, "x-a": "1" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-t": "1" }));
    stream.end("no");
  });
  expect(await fired(server.url, LONG_MS)).toMatchObject({
    status: 422,
    headers: { "x-a": "1" },
    body: { text: "no" },
  });
});

test("an answer before the release is the outcome", async () => {
  await using server = await http2Server(
    () => undefined,
    (stream) => {
      stream.respond({ ":status": 401 });
      stream.end("no");
    },
  );
  expect(await fired(server.url, LONG_MS)).toMatchObject({ kind: "responded", status: 401 });
});

test("of an oversized answer no more is read than the limit", async () => {
  const mebibyte = Buffer.alloc(1024 * 1024, "y");
  let taken = 0;
  await using server = await http2Server((stream) => {
    stream.respond({ ":status": 200 });
    const more = (error?: Error | null): void => {
      if (taken >= 100 || error) return;
      taken += 1;
      stream.write(mebibyte, more);
    };
    more();
  });
  expect(await fired(server.url, LONG_MS)).toEqual(indeterminate("oversized"));
  await sleep(50);
  expect(taken).toBeLessThan(30);
});

test.each(["before the release", "after the release"])("the client hangs up %s", async (when) => {
  let code = -1;
  await using server = await http2Server(
    () => undefined,
    (stream) =>
      stream.on("close", () => {
        code = stream.rstCode;
      }),
  );
  using connection = new Http2Connection(server.url);
  const exchange = connection.open(REQUEST, { gate: "http2", timeoutMs: LONG_MS });
  await connection.settle();
  if (when === "after the release") {
    exchange.release();
    await connection.settle();
  }
  exchange.abort();
  expect(await exchange.outcome).toEqual(indeterminate("aborted"));
  exchange.release();
  exchange.abort();
  await until("the target is told that the stream was cancelled", () => code === 8);
});

test.each<[string, HttpRequest]>([
  ["a body", REQUEST],
  ["a body of one byte", { ...REQUEST, body: "1" }],
  ["an empty body", { ...REQUEST, body: "" }],
  ["DELETE without a body", { ...REQUEST, method: "DELETE", body: "" }],
  ["GET", { ...REQUEST, method: "GET", body: "" }],
  ["DELETE with a body", { ...REQUEST, method: "DELETE" }],
])("%s is at the target but for its last byte before the release", async (_, request) => {
  let begun = 0;
  let body = "";
  let isWhole = false;
  await using server = await http2Server(
    (stream) => {
      isWhole = true;
      stream.respond({ ":status": 200 });
      stream.end();
    },
    (stream) => {
      begun += 1;
      stream.on("data", (piece: Buffer) => {
        body += piece.toString();
      });
    },
  );
  using connection = new Http2Connection(server.url);
  const exchange = connection.open(request, { gate: "http2", timeoutMs: LONG_MS });
  expect(await connection.settle()).toBe(true);
  await sleep(30);
  expect({ begun, body, isWhole }).toEqual({ begun: 1, body: request.body.slice(0, -1), isWhole: false });
  exchange.release();
  expect(await exchange.outcome).toMatchObject({ kind: "responded", status: 200 });
  expect(body).toBe(request.body);
});

test("the requests of a burst end in one segment", async () => {
  await using target = await BurstTarget.start();
  for (let round = 0; round < 5; round += 1) {
    const outcomes = await firedTogether(target.url("relay"), LONG_MS, 50);
    expect(outcomes.filter(({ kind }) => kind === "responded")).toHaveLength(50);
    const { arrivals, release } = await target.take();
    expect(arrivals).toHaveLength(50);
    expect(release).toEqual({ requests: 50, segments: 1 });
  }
});

test("nothing listens: refused, which proves that nothing was executed", async () => {
  const server = await RawServer.start();
  const { url } = server;
  await server[Symbol.asyncDispose]();
  expect(await firedTogether(url, LONG_MS, 3)).toEqual(Array(3).fill({ kind: "refused", reason: "ECONNREFUSED" }));
});

test("a request that cannot be sent is refused, and the others go out", async () => {
  await using server = await http2Server((stream) => {
    stream.respond({ ":status": 200 });
    stream.end();
  });
  const bad = { ...REQUEST, headers: { "proxy-connection": "close" } };
  const outcomes = await firedShots(server.url, LONG_MS, [REQUEST, bad].map(shot));
  expect(outcomes).toMatchObject([{ kind: "responded" }, { kind: "refused" }]);
});

test("a target that speaks HTTP/1.1 only gives no answer, and holds nothing up", async () => {
  await using server = await listening(createHttp1((_, response) => response.end("{}")));
  expect(await fired(server.url, LONG_MS)).toMatchObject({ kind: "indeterminate" });
});

test.skipIf(certificate === null)(
  "a TLS target whose certificate is not trusted is refused, and told why",
  async () => {
    await using server = await tlsTarget();
    expect(await fired(server.url, LONG_MS)).toEqual({ kind: "refused", reason: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  },
);

test.skipIf(certificate === null)("a TLS target whose certificate is trusted", async () => {
  await using server = await tlsTarget();
  const created = { kind: "responded", status: 201, body: { text: "{}" } };
  expect(await firedByTrustingProcess(server.url)).toMatchObject([created, created]);
});

async function fired(url: URL, timeoutMs: number): Promise<Outcome | undefined> {
  const [outcome] = await firedTogether(url, timeoutMs, 1);
  return outcome;
}

function firedTogether(url: URL, timeoutMs: number, duplicates: number): Promise<readonly Outcome[]> {
  return firedShots(
    url,
    timeoutMs,
    Array.from({ length: duplicates }, () => shot(REQUEST)),
  );
}

function shot(request: HttpRequest): Shot {
  return { replica: 0, request, abortAfterMs: null };
}

async function firedShots(url: URL, timeoutMs: number, shots: readonly Shot[]): Promise<readonly Outcome[]> {
  const options = {
    gate: "http2",
    timeoutMs,
    urls: [],
    http2Urls: [url],
    now: () => performance.now() * 1000,
  } as const;
  const landed = await burst(shots, options, () => undefined);
  return landed.map(({ outcome }) => outcome);
}

function send(socket: Socket, ...some: readonly Buffer[]): void {
  socket.write(Buffer.concat(some));
}

/** The headers and a part of the body, and a moment later what comes then. */
function half(socket: Socket, stream: number, then: () => unknown): void {
  send(socket, frames.answer(stream), frames.body(stream, "half"));
  setTimeout(then, 30);
}

async function untilNothingIsOpen(server: RawServer): Promise<void> {
  const open = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
  await until("all connections are closed", () => server.openConnections === 0 && open() === 0);
}

interface Listening extends AsyncDisposable {
  readonly url: URL;
}

async function http2Server(
  onWhole: (stream: ServerHttp2Stream) => void,
  onHeaders: (stream: ServerHttp2Stream) => void = () => undefined,
): Promise<Listening> {
  return listening(reacting(createServer(), onWhole, onHeaders));
}

function reacting(
  server: Http2Server,
  onWhole: (stream: ServerHttp2Stream) => void,
  onHeaders: (stream: ServerHttp2Stream) => void = () => undefined,
): Http2Server {
  return server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    stream.on("end", () => onWhole(stream));
    onHeaders(stream);
    stream.resume();
  });
}

async function tlsTarget(): Promise<Listening> {
  const { key, cert } = certificate ?? { key: "", cert: "" };
  const server = createSecureServer({ key, cert });
  const { url, ...rest } = await listening(
    reacting(server, (stream) => {
      stream.respond({ ":status": 201 });
      stream.end("{}");
    }),
  );
  return { ...rest, url: new URL(`https://127.0.0.1:${url.port}`) };
}

async function listening(server: Server): Promise<Listening> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** Trust is given to a process at its start, so it takes another one. */
async function firedByTrustingProcess(url: URL): Promise<unknown> {
  const program = `
    import { burst } from ${JSON.stringify(new URL("./burst.js", import.meta.url).href)};
    const shot = { replica: 0, request: ${JSON.stringify(REQUEST)}, abortAfterMs: null };
    const urls = [new URL(${JSON.stringify(url.href)})];
    const options = { gate: "http2", timeoutMs: 5_000, urls, http2Urls: urls, now: () => 0 };
    const landed = await burst([shot, shot], options, () => undefined);
    console.log(JSON.stringify(landed.map(({ outcome }) => outcome)));
  `;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: certificate?.certPath },
  });
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

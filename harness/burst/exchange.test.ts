import { execFile } from "node:child_process";
import { createServer as createHttp } from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import type { Outcome } from "../operation.ts";
import { selfSigned } from "../testing/certificate.ts";
import { answers, CREATED, created, dribble, indeterminate, REQUEST } from "../testing/raw-answers.ts";
import { isWhole, RawServer, until } from "../testing/raw-server.ts";
import { type Exchange, openExchange } from "./exchange.ts";

const LONG_MS = 60_000;
const SHORT_MS = 300;

const certificate = selfSigned();
afterAll(() => certificate?.[Symbol.dispose]());

const ofOurs: readonly [name: string, reply: (socket: Socket) => unknown, outcome: object][] = [
  [
    "interim answers before the final one",
    (socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${CREATED}`),
    created,
  ],
];

test.each([...answers, ...ofOurs])("%s", async (_, reply, expected) => {
  await using server = await RawServer.start(({ socket, received }) => {
    if (isWhole(received())) reply(socket);
  });
  expect(await fired(server.url, LONG_MS)).toMatchObject(expected);
  await untilNothingIsOpen(server);
});

test.each<[string, (socket: Socket) => unknown]>([
  ["nothing", () => undefined],
  ["headers that never end", (socket) => dribble(socket, "HTTP/1.1 200 OK\r\n", "x: y\r\n")],
  ["a body that stalls", (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")],
  ["interim answers only", (socket) => dribble(socket, "", "HTTP/1.1 102 Processing\r\n\r\n")],
])("%s until the limit is a timeout", async (_, reply) => {
  await using server = await RawServer.start(({ socket, received }) => {
    if (isWhole(received())) reply(socket);
  });
  const start = performance.now();
  expect(await fired(server.url, SHORT_MS)).toEqual(indeterminate("timeout"));
  expect(performance.now() - start).toBeGreaterThanOrEqual(SHORT_MS - 1);
  await untilNothingIsOpen(server);
});

test("the limit counts from the release", async () => {
  await using server = await RawServer.start(({ socket, received }) => isWhole(received()) && socket.write(CREATED));
  const exchange = openExchange(server.url, REQUEST, { gate: "last-body-byte", timeoutMs: SHORT_MS });
  await exchange.armed;
  await sleep(2 * SHORT_MS);
  exchange.release();
  expect(await exchange.outcome).toMatchObject(created);
});

test("of an oversized answer no more is read than the limit, and the connection is let go", async () => {
  const mebibyte = Buffer.alloc(1024 * 1024, "y");
  let taken = 0;
  await using server = await RawServer.start(({ socket, received }) => {
    if (!isWhole(received())) return;
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${100 * mebibyte.length}\r\n\r\n`);
    const more = (error?: Error | null): void => {
      if (taken >= 100 || error) return;
      taken += 1;
      socket.write(mebibyte, more);
    };
    more();
  });
  expect(await fired(server.url, LONG_MS)).toEqual(indeterminate("oversized"));
  await untilNothingIsOpen(server);
  // Four are read; kernel buffers on both sides hold a few more.
  expect(taken).toBeLessThan(30);
});

test("nothing listens: refused, which proves that nothing was executed", async () => {
  const server = await RawServer.start();
  const { url } = server;
  await server[Symbol.asyncDispose]();
  expect(await fired(url, LONG_MS)).toEqual({ kind: "refused", reason: "ECONNREFUSED" });
});

test("a request that cannot be written is refused before anything is sent", async () => {
  await using server = await RawServer.start();
  const request = { ...REQUEST, headers: { "idempotency-key": "a\r\nb" } };
  const exchange = openExchange(server.url, request, { gate: "none", timeoutMs: LONG_MS });
  await exchange.armed;
  exchange.release();
  expect(await exchange.outcome).toMatchObject({
    kind: "refused",
    reason: expect.stringContaining("Invalid character"),
  });
  await untilNothingIsOpen(server);
  expect(server.received).toBe("");
});

test("an answer before the release is the outcome, and the release then starts nothing", async () => {
  await using server = await RawServer.start(({ socket, received }) => {
    if (received().includes("\r\n\r\n")) socket.write("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n");
  });
  const timers = countOf("Timeout");
  const exchange = openExchange(server.url, REQUEST, { gate: "last-body-byte", timeoutMs: LONG_MS });
  expect(await exchange.outcome).toMatchObject({ kind: "responded", status: 401 });
  await exchange.armed;
  exchange.release();
  await untilNothingIsOpen(server);
  expect(countOf("Timeout")).toBeLessThanOrEqual(timers);
});

test.each<[string, (exchange: Exchange) => unknown]>([
  ["before the release", (exchange) => exchange.abort()],
  [
    "in the tick of the release",
    (exchange) => {
      exchange.release();
      exchange.abort();
    },
  ],
  [
    "while the target works",
    (exchange) => {
      exchange.release();
      setTimeout(exchange.abort, 50);
    },
  ],
])("the client hangs up %s", async (_, hangUp) => {
  await using server = await RawServer.start(() => undefined);
  const timers = countOf("Timeout");
  const exchange = openExchange(server.url, REQUEST, { gate: "last-body-byte", timeoutMs: LONG_MS });
  await exchange.armed;
  hangUp(exchange);
  expect(await exchange.outcome).toEqual(indeterminate("aborted"));
  exchange.abort();
  exchange.release();
  await untilNothingIsOpen(server);
  expect(countOf("Timeout")).toBeLessThanOrEqual(timers);
});

test("the client hangs up before there is a connection", async () => {
  await using server = await RawServer.start();
  const exchange = openExchange(server.url, REQUEST, { gate: "last-body-byte", timeoutMs: LONG_MS });
  exchange.abort();
  await exchange.armed;
  expect(await exchange.outcome).toEqual(indeterminate("aborted"));
  await untilNothingIsOpen(server);
});

test("the target hangs up before the release", async () => {
  await using server = await RawServer.start(({ socket }) => socket.resetAndDestroy());
  const exchange = openExchange(server.url, REQUEST, { gate: "last-body-byte", timeoutMs: LONG_MS });
  expect(await exchange.outcome).toEqual(indeterminate("reset"));
  exchange.release();
  await untilNothingIsOpen(server);
});

const hasIpv6 = Object.values(networkInterfaces()).some((some) => some?.some(({ address }) => address === "::1"));

test.skipIf(!hasIpv6)("an IPv6 loopback target", async () => {
  await using server = await RawServer.start(
    ({ socket, received }) => isWhole(received()) && socket.write(CREATED),
    "::1",
  );
  expect(await fired(new URL(`http://[::1]:${server.port}`), LONG_MS)).toMatchObject(created);
  expect(server.received).toContain(`\r\nHost: [::1]:${server.port}\r\n`);
});

test("the path of the target's URL stands before that of the request", async () => {
  await using server = await listening(createHttp((request, response) => response.end(request.url)));
  expect(await fired(new URL("/base/", server.url), LONG_MS)).toMatchObject({ body: { text: "/base/orders" } });
});

test.skipIf(certificate === null)(
  "a TLS target whose certificate is not trusted is refused, and told why",
  async () => {
    await using server = await tlsTarget();
    expect(await fired(server.url, LONG_MS)).toEqual({ kind: "refused", reason: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  },
);

test.skipIf(certificate === null).each(["localhost", "127.0.0.1"])(
  "a TLS target at %s whose certificate is trusted, through every gate",
  async (host) => {
    await using server = await tlsTarget();
    const outcomes = await firedByTrustingProcess(new URL(`https://${host}:${server.url.port}`));
    expect(outcomes).toMatchObject([created, created, created]);
  },
);

async function fired(url: URL, timeoutMs: number): Promise<Outcome> {
  const exchange = openExchange(url, REQUEST, { gate: "last-body-byte", timeoutMs });
  await exchange.armed;
  exchange.release();
  return exchange.outcome;
}

function countOf(resource: string): number {
  return process.getActiveResourcesInfo().filter((name) => name === resource).length;
}

/** Neither end of any connection. */
async function untilNothingIsOpen(server: RawServer): Promise<void> {
  await until("all connections are closed", () => server.openConnections === 0 && countOf("TCPSocketWrap") === 0);
}

async function listening(server: Server): Promise<{ url: URL } & AsyncDisposable> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}`),
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

async function tlsTarget(): Promise<{ url: URL } & AsyncDisposable> {
  const { key, cert } = certificate ?? { key: "", cert: "" };
  const server = await listening(
    createHttps({ key, cert }, (request, response) => {
      request.resume().on("end", () => response.writeHead(201).end("{}"));
    }) as unknown as Server,
  );
  return { ...server, url: new URL(`https://127.0.0.1:${server.url.port}`) };
}

/** Trust is given to a process at its start, so it takes another one. */
async function firedByTrustingProcess(url: URL): Promise<unknown> {
  const program = `
    import { openExchange } from ${JSON.stringify(new URL("./exchange.js", import.meta.url).href)};
    const outcomes = [];
    for (const gate of ["last-body-byte", "last-header-byte", "none"]) {
      const exchange = openExchange(new URL(${JSON.stringify(url.href)}), ${JSON.stringify(REQUEST)}, { gate, timeoutMs: 5_000 });
      await exchange.armed;
      exchange.release();
      outcomes.push(await exchange.outcome);
    }
    console.log(JSON.stringify(outcomes));
  `;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: certificate?.certPath },
  });
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

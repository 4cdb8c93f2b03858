import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttps } from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import type { Outcome } from "../operation.ts";
import { selfSigned } from "../testing/certificate.ts";
import { answers, CREATED, created, dribble, indeterminate, REQUEST } from "../testing/raw-answers.ts";
import { isWhole, type RawConnection, RawServer, until } from "../testing/raw-server.ts";
import { Sender } from "./sender.ts";

const LONG_MS = 60_000;
const SHORT_MS = 300;

const certificate = selfSigned();
afterAll(() => certificate?.[Symbol.dispose]());

/** What is this client's own, or shows in whether its connection can be used again. */
const ofOurs: readonly [name: string, reply: (socket: Socket) => unknown, outcome: object][] = [
  [
    "a body that is no text",
    (socket) => socket.write(Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n\xff\xfe", "latin1")),
    { body: { text: "\ufffd\ufffd", bytes: 2, digest: expect.stringMatching(/^[0-9a-f]{64}$/) } },
  ],
  [
    "an interim answer before the final one",
    (socket) => socket.write(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${CREATED}`),
    created,
  ],
  [
    "an end before the promised length of a last answer",
    (socket) => socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nhalf"),
    indeterminate("truncated"),
  ],
  [
    "an end within a chunk of a last answer",
    (socket) => socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{}"),
    indeterminate("truncated"),
  ],
  [
    "a 100 Continue that nobody asked for, which undici does not take",
    (socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${CREATED}`),
    { ...indeterminate("malformed"), detail: "a 100 Continue that nobody asked for" },
  ],
];

test.each([...answers, ...ofOurs])("%s; and the request was sent once", async (_, reply, expected) => {
  await using server = await answering(({ socket }) => reply(socket));
  await using sender = new Sender(LONG_MS);
  expect(await sender.send(server.url, REQUEST)).toMatchObject(expected);
  await sleep(20);
  expect(requestsIn(server)).toBe(1);
  // Whatever it was: the next one gets its own answer or none.
  expect(await sender.send(server.url, REQUEST)).toMatchObject(expected);
  expect(requestsIn(server)).toBe(2);
});

test.each<[string, (socket: Socket) => unknown]>([
  ["nothing", () => undefined],
  ["headers that never end", (socket) => dribble(socket, "HTTP/1.1 200 OK\r\n", "x: y\r\n")],
  ["a body that stalls", (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")],
  ["interim answers only", (socket) => dribble(socket, "", "HTTP/1.1 102 Processing\r\n\r\n")],
])("%s until the limit is a timeout, and the connection is let go", async (_, reply) => {
  await using server = await answering(({ socket }) => reply(socket));
  await using sender = new Sender(SHORT_MS);
  const start = performance.now();
  expect(await sender.send(server.url, REQUEST)).toEqual(indeterminate("timeout"));
  expect(performance.now() - start).toBeGreaterThanOrEqual(SHORT_MS - 1);
  await untilClosed(server);
  await sleep(20);
  expect(requestsIn(server)).toBe(1);
});

test("of an oversized answer no more is read than the limit, and the connection is let go", async () => {
  const mebibyte = Buffer.alloc(1024 * 1024, "y");
  let taken = 0;
  await using server = await answering(({ socket }) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${100 * mebibyte.length}\r\n\r\n`);
    const more = (error?: Error | null): void => {
      if (taken >= 100 || error) return;
      taken += 1;
      socket.write(mebibyte, more);
    };
    more();
  });
  await using sender = new Sender(LONG_MS);
  expect(await sender.send(server.url, REQUEST)).toEqual(indeterminate("oversized"));
  await untilClosed(server);
  // Four are read; kernel buffers on both sides hold a few more.
  expect(taken).toBeLessThan(30);
});

test("one after another goes over one connection, and as many at once over as many", async () => {
  await using server = await answering(({ socket }) => socket.write(CREATED));
  await using sender = new Sender(LONG_MS);
  for (let count = 0; count < 5; count += 1) await sender.send(server.url, REQUEST);
  expect(server.connections).toHaveLength(1);
  await Promise.all(Array.from({ length: 4 }, () => sender.send(server.url, REQUEST)));
  expect(server.connections).toHaveLength(4);
  expect(requestsIn(server)).toBe(9);
});

test("a path of the base stands before the request's, and what is sent is what is asked for", async () => {
  await using server = await answering(({ socket }) => socket.write(CREATED));
  await using sender = new Sender(LONG_MS);
  await sender.send(new URL("/base/", server.url), REQUEST);
  expect(server.received).toMatch(/^POST \/base\/orders HTTP\/1\.1\r\n/);
  expect(server.received).toContain(`\r\nhost: 127.0.0.1:${server.port}\r\n`);
  expect(server.received).toContain("\r\nidempotency-key: k\r\n");
  expect(server.received).toMatch(/\r\ncontent-length: 2\r\n\r\n\{\}$/);
});

test("a kept connection that was closed in between carries nothing: a new one is opened", async () => {
  await using server = await answering(({ socket }) => socket.write(CREATED));
  await using sender = new Sender(LONG_MS);
  await sender.send(server.url, REQUEST);
  server.connections[0]?.socket.end();
  await untilClosed(server);
  expect(await sender.send(server.url, REQUEST)).toMatchObject(created);
  expect(server.connections.map(({ received }) => received().toString().split("POST ").length - 1)).toEqual([1, 1]);
});

test("a kept connection that is reset when the request is already on it is indeterminate, and nothing is repeated", async () => {
  let answered = 0;
  await using server = await answering(({ socket }) => {
    answered += 1;
    if (answered === 1) socket.write(CREATED);
    else socket.resetAndDestroy();
  });
  await using sender = new Sender(LONG_MS);
  await sender.send(server.url, REQUEST);
  expect(await sender.send(server.url, REQUEST)).toEqual(indeterminate("reset"));
  await sleep(50);
  expect(server.connections).toHaveLength(1);
  expect(requestsIn(server)).toBe(2);
});

test("however closes and requests cross, every request that came was an attempt, and no attempt came twice", async () => {
  let turn = 0;
  await using server = await answering(({ socket }) => {
    turn += 1;
    socket.write(CREATED);
    // Just when the client may be sending the next one.
    if (turn % 3 === 0) setTimeout(() => (turn % 2 ? socket.resetAndDestroy() : socket.end()), turn % 4);
  });
  await using sender = new Sender(LONG_MS);
  const outcomes = new Map<string, Outcome>();
  await Promise.all(
    Array.from({ length: 8 }, async (_, client) => {
      for (let count = 0; count < 60; count += 1) {
        const key = `key-${client}-${count};`;
        outcomes.set(key, await sender.send(server.url, { ...REQUEST, headers: { "idempotency-key": key } }));
      }
    }),
  );
  const received = server.connections.map((one) => one.received().toString("latin1")).join("\n");
  const came = (key: string): number => received.split(`idempotency-key: ${key}`).length - 1;
  expect(outcomes.size).toBe(480);
  for (const [key, { kind }] of outcomes) {
    if (kind === "responded") expect(came(key), key).toBe(1);
    else expect(came(key), key).toBeLessThanOrEqual(kind === "refused" ? 0 : 1);
  }
  expect([...outcomes.values()].filter(({ kind }) => kind === "responded").length).toBeGreaterThan(200);
});

test("nothing listens: refused, which proves that nothing was executed", async () => {
  const server = await RawServer.start();
  const { url } = server;
  await server[Symbol.asyncDispose]();
  await using sender = new Sender(LONG_MS);
  expect(await sender.send(url, REQUEST)).toEqual({ kind: "refused", reason: "ECONNREFUSED" });
});

test.each([
  ["idempotency-key", "a\r\nb"],
  ["idempotency key", "k"],
])("a request that cannot be written is refused before anything is sent: %j", async (name, value) => {
  await using server = await RawServer.start();
  await using sender = new Sender(LONG_MS);
  const outcome = await sender.send(server.url, { ...REQUEST, headers: { [name]: value } });
  expect(outcome).toMatchObject({ kind: "refused", reason: expect.stringContaining("header") });
  expect(server.received).toBe("");
});

test("what is in flight when the sender is closed is indeterminate, and its connection is let go", async () => {
  await using server = await RawServer.start();
  const sender = new Sender(LONG_MS);
  const outcome = sender.send(server.url, REQUEST);
  await until("the request came", () => server.received.endsWith("{}"));
  await sender[Symbol.asyncDispose]();
  expect(await outcome).toEqual(indeterminate("closed"));
  await untilClosed(server);
});

test.skipIf(certificate === null)("a TLS target that is not trusted is refused, and told why", async () => {
  await using server = await tlsTarget();
  await using sender = new Sender(LONG_MS);
  expect(await sender.send(server.url, REQUEST)).toEqual({ kind: "refused", reason: "DEPTH_ZERO_SELF_SIGNED_CERT" });
});

test.skipIf(certificate === null).each(["localhost", "127.0.0.1"])(
  "a TLS target at %s that is trusted answers, twice over one connection",
  async (host) => {
    await using server = await tlsTarget();
    const outcomes = await sentByTrustingProcess(new URL(`https://${host}:${server.url.port}`));
    expect(outcomes).toMatchObject([created, created]);
    expect(server.connections()).toBe(1);
  },
);

/** Answers every whole request; several may come over one connection. */
function answering(reply: (connection: RawConnection) => unknown): Promise<RawServer> {
  const answered = new Map<RawConnection, number>();
  return RawServer.start((connection) => {
    const done = answered.get(connection) ?? 0;
    const rest = connection.received().subarray(done);
    if (!isWhole(rest)) return;
    answered.set(connection, done + rest.length);
    reply(connection);
  });
}

function requestsIn(server: RawServer): number {
  return server.connections.reduce((sum, { received }) => sum + received().toString().split("POST ").length - 1, 0);
}

async function untilClosed(server: RawServer): Promise<void> {
  await until("all connections are closed", () => server.openConnections === 0);
}

async function tlsTarget(): Promise<{ url: URL; connections: () => number } & AsyncDisposable> {
  const { key, cert } = certificate ?? { key: "", cert: "" };
  const server: Server = createHttps({ key, cert }, (request, response) => {
    request.resume().on("end", () => response.writeHead(201).end("{}"));
  });
  let connections = 0;
  server.on("secureConnection", () => (connections += 1));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`),
    connections: () => connections,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** Trust is given to a process at its start, so it takes another one. */
async function sentByTrustingProcess(url: URL): Promise<unknown> {
  const program = `
    import { Sender } from ${JSON.stringify(new URL("./sender.js", import.meta.url).href)};
    const sender = new Sender(5_000);
    const outcomes = [];
    for (let count = 0; count < 2; count += 1) {
      outcomes.push(await sender.send(new URL(${JSON.stringify(url.href)}), ${JSON.stringify(REQUEST)}));
    }
    await sender[Symbol.asyncDispose]();
    console.log(JSON.stringify(outcomes));
  `;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: certificate?.certPath },
  });
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

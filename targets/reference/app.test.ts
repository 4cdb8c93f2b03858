import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { complete } from "./idempotency/complete.ts";
import type { Steps } from "./idempotency/plugin.ts";
import { Database } from "./testing/database.ts";
import { Gate } from "./testing/gate.ts";
import { headersOf, orderNamed, Service } from "./testing/service.ts";

let database: Database;
let service: Service;
beforeAll(async () => {
  database = await Database.start();
  service = await Service.open(database.url);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

interface Refused {
  readonly status: number;
  readonly contentType?: string | undefined;
  readonly body: string | Buffer | undefined;
}

const json = "application/json";

describe("a body that cannot be read", () => {
  test.each<[string, Refused]>([
    ["too large", { status: 413, body: JSON.stringify({ item: "x".repeat(70_000) }) }],
    ["no JSON", { status: 400, body: "{" }],
    ["empty, said to be JSON", { status: 400, body: "" }],
    ["not there at all", { status: 400, body: undefined, contentType: undefined }],
    ["white space", { status: 400, body: "  " }],
    ["a name twice", { status: 400, body: '{"amount":1,"amount":2,"reference":"r"}' }],
    ["nested 20,000 deep", { status: 400, body: "[".repeat(20_000) }],
    ["no UTF-8", { status: 400, body: Buffer.from([0x22, 0xff, 0x22]) }],
    ["half a surrogate pair", { status: 400, body: '{"amount":1,"reference":"\\ud800"}' }],
    ["UTF-16", { status: 400, body: Buffer.from("{}", "utf16le"), contentType: `${json}; charset=utf-16` }],
    ["plain text", { status: 415, body: "{}", contentType: "text/plain" }],
    ["a form", { status: 415, body: "amount=1", contentType: "application/x-www-form-urlencoded" }],
    ["of no type", { status: 415, body: "{}", contentType: undefined }],
    ["of a type that is none", { status: 415, body: "{}", contentType: "?" }],
  ])("is refused as a problem and claims no key: %s", async (_, { status, body, ...type }) => {
    const key = randomUUID();
    const contentType = "contentType" in type ? type.contentType : json;
    const { "content-type": _ours, ...headers } = headersOf(key);
    const answer = await service.app.inject({
      method: "POST",
      url: "/orders",
      headers: { ...headers, ...(contentType === undefined ? {} : { "content-type": contentType }) },
      ...(body === undefined ? {} : { payload: body }),
    });
    expect(answer.statusCode).toBe(status);
    expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
    expect(answer.json()).toMatchObject({ status, detail: expect.any(String) });
    const { rows } = await database.pool.query("select from idempotency_keys where key = $1", [key]);
    expect(rows).toHaveLength(0);
    expect(await service.send({ key, body: orderNamed(key) })).toMatchObject({ status: 201, isReplay: false });
  });

  test("too large without saying so beforehand", async () => {
    const url = await service.app.listen({ port: 0, host: "127.0.0.1" });
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(16_384).fill(0x20)),
    });
    const sent = fetch(`${url}/orders`, { method: "POST", headers: headersOf(randomUUID()), body, duplex: "half" });
    // The service answers and closes; a client that is still writing may see either.
    const status = await sent.then(
      (answer) => answer.status,
      () => 413,
    );
    expect(status).toBe(413);
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });
});

test.each([
  ["no token", { authorization: "" }],
  ["an unknown token", { authorization: "Bearer mallory" }],
  ["a token that every object has", { authorization: "Bearer constructor" }],
])("who is not known is refused before any key is looked at: %s", async (_, headers) => {
  const answer = await service.send({ key: null, body: {}, headers });
  expect(answer.status).toBe(401);
  expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
});

test.each([
  ["missing", null],
  ["empty", ""],
  ["too long", "k".repeat(256)],
  ["with a space", "a b"],
])("a key that is %s is refused as a problem", async (_, key) => {
  const reference = randomUUID();
  const answer = await service.send({ key, body: orderNamed(reference) });
  expect(answer.status).toBe(400);
  expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
});

test("what a client says in the headers of the layer means nothing", async () => {
  const key = randomUUID();
  const headers = { "idempotency-replayed": "true" };
  expect(await service.send({ key, body: orderNamed(key), headers })).toMatchObject({ status: 201, isReplay: false });
});

test("an unknown path is a problem, not a failure", async () => {
  const answer = await service.app.inject({ method: "POST", url: "/nothing", payload: {} });
  expect(answer.statusCode).toBe(404);
  expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
});

test("the ledger is append-only", async () => {
  const key = randomUUID();
  await service.send({ key, body: orderNamed(key) });
  for (const change of ["update ledger set amount = 0", "delete from ledger", "truncate ledger"]) {
    await expect(database.pool.query(change)).rejects.toThrow("append-only");
  }
  const { rows } = await database.pool.query("select amount from ledger where reference = $1", [key]);
  expect(rows).toEqual([{ amount: "1999" }]);
});

describe("a service that closes", () => {
  const held = (gate: Gate): Partial<Steps> => ({
    complete: async (...given) => {
      await gate.pass();
      return complete(...given);
    },
  });
  /** Far below the time for which a connection may be idle. */
  const PROMPT_MS = 5_000;

  test("answers what is in flight, then closes the connection (HTTP/1.1)", async () => {
    const gate = new Gate();
    await using closing = await Service.open(database.url, { gate, steps: held(gate) });
    await closing.app.listen({ port: 0, host: "127.0.0.1" });
    const { port } = closing.app.server.address() as AddressInfo;
    const agent = new Agent({ keepAlive: true });
    const key = randomUUID();
    const sent = request({ port, agent, method: "POST", path: "/orders", headers: headersOf(key) });
    sent.end(JSON.stringify(orderNamed(key)));
    const answered = once(sent, "response");
    await gate.reached;
    const started = performance.now();
    const closed = closing.app.close();
    gate.open();
    const [response] = await answered;
    expect(response.statusCode).toBe(201);
    expect(response.headers.connection).toBe("close");
    expect(JSON.parse(await text(response))).toMatchObject({ reference: key });
    await closed;
    expect(performance.now() - started).toBeLessThan(PROMPT_MS);
    agent.destroy();
  });

  test("answers what is in flight, then closes the session (HTTP/2)", async () => {
    const gate = new Gate();
    await using closing = await Service.open(database.url, { gate, steps: held(gate), http2: true });
    const url = await closing.app.listen({ port: 0, host: "127.0.0.1" });
    const session = connect(url);
    const idle = connect(url);
    await once(idle, "connect");
    const key = randomUUID();
    const sent = session.request({ ":method": "POST", ":path": "/orders", ...headersOf(key) });
    sent.end(JSON.stringify(orderNamed(key)));
    const answered = once(sent, "response");
    await gate.reached;
    const started = performance.now();
    const closed = closing.app.close();
    gate.open();
    const [headers] = await answered;
    expect(headers[":status"]).toBe(201);
    expect(JSON.parse(await text(sent))).toMatchObject({ reference: key });
    await closed;
    expect(performance.now() - started).toBeLessThan(PROMPT_MS);
    session.destroy();
    idle.destroy();
  });
});

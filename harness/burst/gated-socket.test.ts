import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Gate } from "../event.ts";
import type { HttpRequest } from "../operation.ts";
import { isWhole, type RawConnection, RawServer, until } from "../testing/raw-server.ts";
import { openExchange } from "./exchange.ts";

const requests: Record<string, HttpRequest> = {
  "a body": post('{"amount":1999}'),
  "a body of one byte": post("1"),
  "a body that ends in the middle of a character": post('{"item":"café'),
  "a body beyond the kernel's buffers": post("x".repeat(1_000_000)),
  "an empty body": post(""),
  "no body": { method: "DELETE", path: "/orders/1?force=1", headers: { "idempotency-key": "k" }, body: "" },
};
const gates: readonly Gate[] = ["last-body-byte", "last-header-byte", "none"];

for (const gate of gates) {
  test.each(Object.entries(requests))(`${gate}: of %s nothing but the held bytes is missing`, async (_, request) => {
    await using server = await RawServer.start(answerWhole);
    const exchange = openExchange(server.url, request, { gate, timeoutMs: 5_000 });
    await exchange.armed;
    exchange.rouse();
    const expected = await settledReceipt(server);
    exchange.release();
    expect(await exchange.outcome).toMatchObject({ kind: "responded", status: 201 });
    const all = server.received;
    expect(expected.length).toBe(heldFrom(all, gate));
    expect(all.startsWith(expected)).toBe(true);
    expect(all.endsWith(`\r\n\r\n${Buffer.from(request.body).toString("latin1")}`)).toBe(true);
  });
}

test("the byte that rouses the target is sent once, by then or by the release", async () => {
  for (const rousings of [0, 1, 2]) {
    await using server = await RawServer.start(answerWhole);
    const exchange = openExchange(server.url, post('{"amount":1999}'), { gate: "last-body-byte", timeoutMs: 5_000 });
    await exchange.armed;
    for (let times = 0; times < rousings; times += 1) exchange.rouse();
    expect(await settledReceipt(server)).toMatch(rousings === 0 ? /\{"amount":199$/ : /\{"amount":1999$/);
    exchange.release();
    exchange.rouse();
    expect(await exchange.outcome).toMatchObject({ kind: "responded", status: 201 });
    expect(server.received).toMatch(/\r\n\r\n\{"amount":1999\}$/);
  }
});

test("a release before everything stands at the gate opens it: the request goes out whole", async () => {
  await using server = await RawServer.start(answerWhole);
  const exchange = openExchange(server.url, post("{}"), { gate: "last-body-byte", timeoutMs: 5_000 });
  exchange.release();
  expect(await exchange.outcome).toMatchObject({ kind: "responded", status: 201 });
});

test("a large answer is whole, though the connection closes behind it", async () => {
  const body = "y".repeat(3_000_000);
  await using server = await RawServer.start((connection) => {
    if (!isWhole(connection.received())) return;
    connection.socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
  });
  const options = { gate: "none", timeoutMs: 5_000, bytesMax: 4_000_000 } as const;
  const exchanges = Array.from({ length: 8 }, () => openExchange(server.url, post("{}"), options));
  for (const exchange of exchanges) {
    await exchange.armed;
    exchange.release();
  }
  for (const { outcome } of exchanges) {
    expect(await outcome).toMatchObject({ kind: "responded", body: { bytes: body.length } });
  }
});

function post(body: string): HttpRequest {
  return { method: "POST", path: "/orders", headers: { "content-type": "application/json" }, body };
}

function answerWhole({ socket, received }: RawConnection): void {
  if (isWhole(received())) socket.write("HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n");
}

/** What has come when no more comes. */
async function settledReceipt(server: RawServer): Promise<string> {
  await until("the connection", () => server.connections.length === 1);
  let before = "";
  do {
    before = server.received;
    await sleep(50);
  } while (server.received !== before);
  return before;
}

/** Where the gate must keep the request back, said in the words of its name. */
function heldFrom(request: string, gate: Gate): number {
  if (gate === "none") return 0;
  if (gate === "last-header-byte") return request.indexOf("\r\n\r\n") + 3;
  return request.length - 1;
}

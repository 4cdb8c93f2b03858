import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { askProcessor } from "./ask.ts";
import { callProcessor } from "./call.ts";

/** Answers everything with what the test put here. */
let answer: { readonly status: number; readonly body: string };
let server: Server;
beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    response.writeHead(answer.status).end(answer.body);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => {
  server.close();
});

const processor = () => ({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, timeoutMs: 10_000 });
const charge = (status: string, id: unknown = "ch_1"): string => JSON.stringify({ id, status });

/** The answer, what it means to a call, and to the status query. */
const table: [status: number, body: string, call: string, ask: string][] = [
  [201, charge("succeeded"), "decided", "unknown"],
  [402, charge("declined"), "decided", "unknown"],
  [200, charge("succeeded"), "unknown", "found"],
  [200, charge("declined"), "unknown", "found"],
  [200, charge("pending"), "unknown", "unknown"],
  [200, "{}", "unknown", "unknown"],
  [404, "{}", "unknown", "not-found"],
  [409, "{}", "unknown", "unknown"],
  [422, "{}", "unknown", "unknown"],
  [201, charge("declined"), "unknown", "unknown"],
  [402, charge("succeeded"), "unknown", "unknown"],
  [500, charge("succeeded"), "unknown", "unknown"],
  [503, "", "unknown", "unknown"],
  [201, charge("succeeded", 5), "unknown", "unknown"],
  [201, charge("succeeded", ""), "unknown", "unknown"],
  [201, "null", "unknown", "unknown"],
  [201, "Created", "unknown", "unknown"],
];

test.each(table)("%d %s is to a call %s, to a status query %s", async (status, body, call, ask) => {
  answer = { status, body };
  expect((await callProcessor(processor(), "key", {})).kind).toBe(call);
  expect((await askProcessor(processor(), "key")).kind).toBe(ask);
});

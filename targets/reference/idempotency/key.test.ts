import { createServer, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, test } from "vitest";
import { keyOf } from "./key.ts";
import { Problem } from "./problem.ts";

const slugOf = (headers: IncomingHttpHeaders): string => {
  try {
    return `key ${keyOf(headers)}`;
  } catch (error) {
    if (error instanceof Problem && error.statusCode === 400) return error.slug;
    throw error;
  }
};

test.each([
  ["a UUID", "7d3a1c5e-9d0b-4e3c-8f43-0a2a6f6f1f7b"],
  ["one character", "k"],
  [
    "every visible ASCII character",
    Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index)).join(""),
  ],
  ["255 characters", "k".repeat(255)],
])("a key is taken as it is: %s", (_, key) => {
  expect(keyOf({ "idempotency-key": key })).toBe(key);
});

test("keys that differ in case are two keys", () => {
  expect(keyOf({ "idempotency-key": "Key" })).not.toBe(keyOf({ "idempotency-key": "key" }));
});

test.each([
  ["missing", undefined, "key-missing"],
  ["empty", "", "key-malformed"],
  ["256 characters", "k".repeat(256), "key-too-long"],
  ["a space inside", "a b", "key-malformed"],
  ["a space at the end", "a ", "key-malformed"],
  ["a tab", "a\tb", "key-malformed"],
  ["a line break at the end", "a\n", "key-malformed"],
  ["a zero byte", "a\0", "key-malformed"],
  ["a letter beyond ASCII", "caf\u00e9", "key-malformed"],
  ["a delete character", "a\x7f", "key-malformed"],
])("a key is refused: %s", (_, key, slug) => {
  expect(slugOf(key === undefined ? {} : { "idempotency-key": key })).toBe(slug);
});

test("two header lines are no key, whatever they hold, since nobody can say which one was meant", async () => {
  const found = await keysOnTheWire(
    ["Idempotency-Key: a", "Idempotency-Key: b"],
    ["Idempotency-Key: a", "idempotency-key: a"],
    ["Idempotency-Key: a", "Idempotency-Key:"],
    ["Idempotency-Key:", "Idempotency-Key: a"],
    ["Idempotency-Key: caf\u00e9"],
    ["Idempotency-Key:   a   "],
  );
  const malformed = "key-malformed";
  expect(found).toEqual([malformed, malformed, malformed, malformed, malformed, "key a"]);
});

/** What a real server makes of header lines, request by request. */
async function keysOnTheWire(...requests: string[][]): Promise<string[]> {
  const found: string[] = [];
  const server = createServer((request, response) => {
    found.push(slugOf(request.headers));
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  for (const lines of requests) {
    await new Promise<void>((resolve) => {
      const socket = connect(port, "127.0.0.1")
        .on("close", () => resolve())
        .resume();
      socket.end(["GET / HTTP/1.1", "Host: a", "Connection: close", ...lines, "", ""].join("\r\n"), "latin1");
    });
  }
  await new Promise((resolve) => server.close(resolve));
  return found;
}

import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Gate } from "../event.ts";
import { burst } from "./burst.ts";

let server: Server;
let base: URL;

/** Takes connections and says nothing, as a process does that is stopped. */
beforeAll(async () => {
  server = createServer((socket) => socket.on("error", () => undefined));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  base = new URL(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`);
});
afterAll(() => void server.close());

const GATES: readonly Gate[] = ["none", "last-body-byte", "last-header-byte", "http2"];

function burstAt(gate: Gate, timeoutMs: number, signal: AbortSignal) {
  const request = { method: "POST", path: "/", headers: {}, body: "{}" };
  const shots = [1, 2].map(() => ({ replica: 0, request, abortAfterMs: null }));
  const options = { gate, timeoutMs, urls: [base], http2Urls: [base], now: () => performance.now() * 1000, signal };
  return burst(shots, options, () => undefined);
}

test.concurrent.each(GATES)("at a server that says nothing a burst ends in timeouts: %s", async (gate) => {
  const landed = await burstAt(gate, 300, new AbortController().signal);
  expect(landed.map(({ outcome }) => outcome)).toEqual([
    { kind: "indeterminate", reason: "timeout" },
    { kind: "indeterminate", reason: "timeout" },
  ]);
});

test.concurrent.each(GATES)("a run that is to stop hangs up on a burst: %s", async (gate) => {
  const stop = new AbortController();
  const began = performance.now();
  setTimeout(() => stop.abort(), 200);
  const landed = await burstAt(gate, 60_000, stop.signal);
  expect(performance.now() - began).toBeLessThan(4_000);
  expect(landed.map(({ outcome }) => outcome)).toEqual([
    { kind: "indeterminate", reason: "aborted" },
    { kind: "indeterminate", reason: "aborted" },
  ]);
});

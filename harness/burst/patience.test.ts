/** How long the driver waits for targets that do not even begin; together, because each takes seconds. */
import { expect, test } from "vitest";
import type { Gate } from "../event.ts";
import type { Outcome } from "../operation.ts";
import { startRawHttp2 } from "../testing/raw-http2-server.ts";
import { RawServer } from "../testing/raw-server.ts";
import { burst } from "./burst.ts";

const GATES: readonly Gate[] = ["last-body-byte", "http2"];

test.concurrent.each(GATES)("%s: a target that never says a word of TLS is refused in time", async (gate) => {
  await using server = await RawServer.start();
  const outcome = await fired(new URL(`https://127.0.0.1:${server.port}`), gate);
  expect(outcome).toEqual({ kind: "refused", reason: "no connection within 5000 ms" });
});

test.concurrent("a target that never answers a ping does not hold the burst for ever", async () => {
  await using server = await startRawHttp2(() => undefined, { isMute: true });
  expect(await fired(server.url, "http2")).toEqual({ kind: "indeterminate", reason: "timeout" });
});

test.concurrent("a target that reads no further does not hold the burst for ever", async () => {
  await using server = await RawServer.start(({ socket }) => socket.pause());
  const outcome = await fired(server.url, "last-body-byte", "x".repeat(20_000_000));
  expect(outcome).toEqual({ kind: "indeterminate", reason: "timeout" });
});

async function fired(url: URL, gate: Gate, body = "{}"): Promise<Outcome | undefined> {
  const request = { method: "POST", path: "/", headers: {}, body };
  const [landed] = await burst(
    [{ replica: 0, request, abortAfterMs: null }],
    { gate, timeoutMs: 300, urls: [url], http2Urls: [url], now: () => performance.now() * 1000 },
    () => undefined,
  );
  return landed?.outcome;
}

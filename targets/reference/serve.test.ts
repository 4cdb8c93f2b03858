import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Keeper, type KeptProcess, ownEnvironment } from "../../harness/lab/keeper.ts";
import { freePort } from "../../harness/lab/port.ts";
import { downstreamKey } from "./testing/charging.ts";
import { Database } from "./testing/database.ts";
import { TestFailpoints } from "./testing/failpoints.ts";
import { Processor } from "./testing/processor.ts";
import { headersOf, orderNamed } from "./testing/service.ts";

/** For what comes soon, on a machine with other work. */
const PATIENCE = { timeout: 10_000 };

let database: Database;
beforeAll(async () => {
  database = await Database.start();
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

interface Started {
  readonly url: string;
  readonly server: KeptProcess;
}

/** The service as a process, ready. */
async function startServer(keeper: Keeper, settings: Readonly<Record<string, string>>): Promise<Started> {
  const directory = await keeper.makeDirectory("reference-test-");
  const port = await freePort();
  const server = await keeper.start({
    file: process.execPath,
    args: [join(import.meta.dirname, "server.js")],
    env: {
      ...ownEnvironment(),
      PORT: String(port),
      DATABASE_URL: database.url,
      CALLERS: "alice-token=alice",
      LAB: "on",
      ...settings,
    },
    directory: "/",
    log: join(directory, "server.log"),
    secrets: [],
    stopSignal: "SIGTERM",
  });
  const url = `http://127.0.0.1:${port}`;
  await vi.waitFor(async () => expect((await fetch(`${url}/health`)).status).toBe(200), PATIENCE);
  return { url, server };
}

test("a process that is told to end answers what is in flight and ends well", async () => {
  await using keeper = new Keeper();
  const { url, server } = await startServer(keeper, { HTTP2_PORT: String(await freePort()) });
  const key = randomUUID();
  const headers = { ...headersOf(key), "lab-work-ms": "1000" };
  const answered = fetch(`${url}/orders`, { method: "POST", headers, body: JSON.stringify(orderNamed(key)) });
  await vi.waitFor(async () => {
    const { rows } = await database.pool.query("select from idempotency_keys where key = $1", [key]);
    expect(rows).toHaveLength(1);
  }, PATIENCE);
  await server.signal("SIGTERM");
  const answer = await answered;
  expect(answer.status).toBe(201);
  expect(await answer.json()).toMatchObject({ reference: key });
  expect(await server.exited).toEqual({ code: 0, signal: null });
});

test("a charge whose process is killed between call and record is finished by another one, without a second call", async () => {
  await using keeper = new Keeper();
  await using processor = await Processor.start();
  await using failpoints = await TestFailpoints.start();
  const settings = { PROCESSOR_URL: processor.url, FAILPOINTS_URL: failpoints.url, LEASE_MS: "1000" };
  const first = await startServer(keeper, { ...settings, REPLICA: "0" });
  const second = await startServer(keeper, { ...settings, REPLICA: "1" });
  const key = randomUUID();
  const headers = { ...headersOf(key), "lab-failpoints": "on" };
  const charge = { method: "POST", headers, body: JSON.stringify(orderNamed(key)) };
  failpoints.strike(key, "downstream-called", async () => {
    await first.server.signal("SIGKILL");
    await first.server.exited;
    return { do: "go" };
  });
  await expect(fetch(`${first.url}/charges`, charge)).rejects.toThrow();
  await vi.waitFor(async () => {
    expect((await fetch(`${second.url}/charges`, charge)).status).toBe(201);
  }, PATIENCE);
  expect(processor.chargesOf(key)).toHaveLength(1);
  expect(processor.callsWith(downstreamKey(key))).toEqual(["charge", "query"]);
});

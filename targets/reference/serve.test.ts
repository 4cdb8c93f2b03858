import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Keeper, ownEnvironment } from "../../harness/lab/keeper.ts";
import { freePort } from "../../harness/lab/port.ts";
import { Database } from "./testing/database.ts";
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

test("a process that is told to end answers what is in flight and ends well", async () => {
  await using keeper = new Keeper();
  const directory = await keeper.makeDirectory("reference-test-");
  const port = await freePort();
  const settings = {
    PORT: String(port),
    HTTP2_PORT: String(await freePort()),
    DATABASE_URL: database.url,
    CALLERS: "alice-token=alice",
    LAB: "on",
  };
  const server = await keeper.start({
    file: process.execPath,
    args: [join(import.meta.dirname, "server.js")],
    env: { ...ownEnvironment(), ...settings },
    directory: "/",
    log: join(directory, "server.log"),
    secrets: [],
    stopSignal: "SIGTERM",
  });
  const url = `http://127.0.0.1:${port}`;
  await vi.waitFor(async () => expect((await fetch(`${url}/health`)).status).toBe(200), PATIENCE);
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

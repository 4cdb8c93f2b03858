import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Phase } from "./failpoints.ts";
import { Charging, chargeOf, downstreamKey, ONCE, watched } from "./testing/charging.ts";
import { promised } from "./testing/service.ts";

let lab: Charging;
beforeAll(async () => {
  lab = await Charging.start();
});
afterAll(async () => {
  await lab[Symbol.asyncDispose]();
});

/** After a throw at the phase: the answer, the state and recovery point of the key, and what asked the processor in all. */
type Left = readonly [phase: Phase, status: number, state: string, point: string, calls: string[]];

describe("a failure at a phase boundary", () => {
  test("is asked for at each, in order, by requests that want it and by no others", async () => {
    const key = randomUUID();
    await lab.one.send(watched(key));
    await lab.one.send(watched(key));
    expect(lab.failpoints.passesOf(key)).toEqual([
      "before-claim",
      "claimed",
      "intent-recorded",
      "downstream-called",
      "outcome-recorded",
      "before-completion",
      "before-commit",
      "committed",
      "before-claim",
      "replaying",
    ]);
    const unwatched = randomUUID();
    await lab.one.send(chargeOf(unwatched));
    expect(lab.failpoints.passesOf(unwatched)).toEqual([]);
  });

  test.each<Left>([
    ["claimed", 500, "failed_retryable", "claimed", ["charge"]],
    ["intent-recorded", 500, "failed_retryable", "intent-recorded", ["charge"]],
    ["downstream-called", 504, "in_progress", "intent-recorded", ["charge", "query"]],
    ["outcome-recorded", 504, "in_progress", "outcome-recorded", ["charge"]],
    ["before-completion", 504, "in_progress", "outcome-recorded", ["charge"]],
    ["before-commit", 504, "in_progress", "outcome-recorded", ["charge"]],
    ["committed", 500, "completed", "completed", ["charge"]],
  ])("leaves the key as the policy says, and a retry ends it once: %s", async (...row) => {
    const [phase, status, state, recovery_point, calls] = row;
    const key = randomUUID();
    lab.failpoints.strike(key, phase, () => ({ do: "throw" }));
    const failed = await lab.one.send(watched(key));
    expect(failed).toMatchObject({ status, isReplay: false });
    if (status === 504) expect(Number(failed.headers["retry-after"])).toBeGreaterThanOrEqual(59);
    expect(await lab.recordOf(key)).toMatchObject({ state, recovery_point });
    if (state === "in_progress") expect((await lab.other.send(chargeOf(key))).status).toBe(409);
    const isDone = state === "completed";
    const again = await lab.retried(key);
    expect(again).toMatchObject({ status: 201, isReplay: isDone });
    expect(promised(await lab.one.send(chargeOf(key)))).toEqual(promised(again));
    expect(lab.processor.callsWith(downstreamKey(key))).toEqual(calls);
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test("after the commit asks nobody to free the key", async () => {
    const freed: string[] = [];
    await using service = await lab.open({ steps: { fail: async (_pool, { key }) => void freed.push(key) } });
    for (const path of ["/orders", "/charges"]) {
      const key = randomUUID();
      lab.failpoints.strike(key, "committed", () => ({ do: "throw" }));
      expect((await service.send({ ...watched(key), path })).status).toBe(500);
      expect(await service.send({ ...watched(key), path })).toMatchObject({ status: 201, isReplay: true });
    }
    expect(freed).toEqual([]);
  });

  test("before the claim leaves nothing, during a replay everything", async () => {
    const key = randomUUID();
    lab.failpoints.strike(key, "before-claim", () => ({ do: "throw" }));
    expect((await lab.one.send(watched(key))).status).toBe(500);
    expect(await lab.recordOf(key)).toBeUndefined();
    const first = await lab.one.send(watched(key));
    lab.failpoints.strike(key, "replaying", () => ({ do: "throw" }));
    expect((await lab.one.send(watched(key))).status).toBe(500);
    expect(promised(await lab.one.send(watched(key)))).toEqual(promised(first));
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test.each<[Phase, number]>([
    ["taking-over", 500],
    ["claimed", 504],
    ["downstream-called", 504],
  ])("of a takeover leaves the key held: %s", async (phase, status) => {
    const key = randomUUID();
    lab.processor.tell(key, "reset-after");
    expect((await lab.one.send(chargeOf(key))).status).toBe(504);
    await lab.expireLease(key);
    lab.failpoints.strike(key, phase, () => ({ do: "throw" }));
    expect((await lab.other.send(watched(key))).status).toBe(status);
    expect(await lab.recordOf(key)).toMatchObject({ state: "in_progress", recovery_point: "intent-recorded" });
    expect((await lab.retried(key, lab.one)).status).toBe(201);
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test("of the handler after a takeover does not free the key", async () => {
    const key = randomUUID();
    lab.processor.tell(key, "reset-after");
    expect((await lab.one.send(chargeOf(key))).status).toBe(504);
    await lab.expireLease(key);
    expect((await lab.other.send(chargeOf(key, { headers: { "lab-fail": "before-effect" } }))).status).toBe(503);
    expect(await lab.recordOf(key)).toMatchObject({ state: "in_progress", recovery_point: "intent-recorded" });
  });

  test("can be a delay, and the request goes on", async () => {
    const key = randomUUID();
    lab.failpoints.strike(key, "intent-recorded", () => ({ do: "delay", ms: 50 }));
    const started = performance.now();
    expect((await lab.one.send(watched(key))).status).toBe(201);
    expect(performance.now() - started).toBeGreaterThanOrEqual(49);
  });

  test("is nothing a client can ask for where the lab is off", async () => {
    await using service = await lab.open({ lab: false });
    const key = randomUUID();
    expect((await service.send(watched(key))).status).toBe(201);
    expect(lab.failpoints.passesOf(key)).toEqual([]);
  });

  test("is asked for by orders too, each phase at its place", async () => {
    const key = randomUUID();
    await lab.one.send({ ...watched(key), path: "/orders" });
    expect(lab.failpoints.passesOf(key)).toEqual([
      "before-claim",
      "claimed",
      "before-effect",
      "before-completion",
      "before-commit",
      "committed",
    ]);
  });

  test.each<[Phase, string]>([
    ["claimed", "failed_retryable"],
    ["before-effect", "failed_retryable"],
    ["before-completion", "failed_retryable"],
    ["before-commit", "failed_retryable"],
    ["committed", "completed"],
  ])("of an order frees the key until it is committed: %s", async (phase, state) => {
    const key = randomUUID();
    const order = { ...watched(key), path: "/orders" };
    lab.failpoints.strike(key, phase, () => ({ do: "throw" }));
    expect((await lab.one.send(order)).status).toBe(500);
    expect(await lab.recordOf(key)).toMatchObject({ state });
    expect((await lab.other.send(order)).status).toBe(201);
    const { rows } = await lab.database.pool.query("select from ledger where reference = $1", [key]);
    expect(rows).toHaveLength(1);
  });
});

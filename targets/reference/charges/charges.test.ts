import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ReconcilerSteps } from "../idempotency/reconcile.ts";
import { Charging, chargeOf, downstreamKey, ONCE, SCOPE } from "../testing/charging.ts";
import { type Behaviour, Processor } from "../testing/processor.ts";
import { orderNamed, promised } from "../testing/service.ts";

let lab: Charging;
beforeAll(async () => {
  lab = await Charging.start();
});
afterAll(async () => {
  await lab[Symbol.asyncDispose]();
});

describe("a charge", () => {
  test("is called once with the derived key, booked with its receipt, and replayed byte for byte", async () => {
    const key = randomUUID();
    const first = await lab.one.send(chargeOf(key));
    expect(first).toMatchObject({ status: 201, isReplay: false });
    const [charge] = lab.processor.chargesOf(key);
    expect(charge).toMatchObject({ amount: "1999", currency: "usd" });
    expect(JSON.parse(first.body)).toMatchObject({ kind: "charge", amount: "1999", charge: charge?.id });
    expect(downstreamKey(key)).toMatch(/^[0-9a-f]{64}$/);
    expect(lab.processor.callsWith(downstreamKey(key))).toEqual(["charge"]);
    expect(promised(await lab.other.send(chargeOf(key)))).toEqual(promised(first));
    expect(await lab.booksOf(key)).toEqual(ONCE);
    expect(await lab.recordOf(key)).toMatchObject({
      state: "completed",
      recovery_point: "completed",
      held_since: null,
    });
    expect(await lab.listed(key)).toBeUndefined();
  });

  test("of an amount beyond any float reaches the processor as it was sent", async () => {
    const key = randomUUID();
    const body = `{"amount":9007199254740993,"reference":${JSON.stringify(key)}}`;
    expect((await lab.one.send(chargeOf(key, { body }))).status).toBe(201);
    expect(lab.processor.chargesOf(key)).toMatchObject([{ amount: "9007199254740993" }]);
  });

  test("that is declined is stored as that, and books nothing", async () => {
    const key = randomUUID();
    lab.processor.tell(key, "decline");
    const first = await lab.one.send(chargeOf(key));
    expect(first).toMatchObject({ status: 402, isReplay: false });
    expect(first.headers["content-type"]).toMatch(/^application\/problem\+json/);
    const replay = await lab.other.send(chargeOf(key));
    expect(replay.isReplay).toBe(true);
    expect(promised(replay)).toEqual(promised(first));
    expect(lab.processor.callsWith(downstreamKey(key))).toEqual(["charge"]);
    expect(await lab.booksOf(key)).toEqual({ charges: 1, ledger: 0, receipts: 0 });
  });

  test("by fifty duplicates on two replicas is one", async () => {
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => (index % 2 ? lab.one : lab.other).send(chargeOf(key))),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]));
    expect(lab.processor.callsWith(downstreamKey(key))).toEqual(["charge"]);
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test.each([
    ["there is no processor", { processorUrl: null }],
    ["the keys are in partitions", { keyStore: "partitioned" as const }],
  ])("is nothing the service knows where %s", async (_, without) => {
    await using service = await lab.open(without);
    const key = randomUUID();
    expect((await service.send(chargeOf(key))).status).toBe(404);
    expect(await lab.recordOf(key)).toBeUndefined();
  });
});

describe("a failure of the processor", () => {
  test("to be reached frees the key: nothing was sent", async () => {
    await using unreachable = await Processor.start();
    await using service = await lab.open({ processorUrl: unreachable.url });
    await unreachable.stop();
    const key = randomUUID();
    const refused = await service.send(chargeOf(key));
    expect(refused).toMatchObject({ status: 503, isReplay: false });
    expect(await lab.recordOf(key)).toMatchObject({ state: "failed_retryable" });
    expect(await lab.listed(key)).toBeUndefined();
    await unreachable.resume();
    expect(await service.send(chargeOf(key))).toMatchObject({ status: 201, isReplay: false });
    // Begun anew: there was nothing to ask for.
    expect(unreachable.callsWith(downstreamKey(key))).toEqual(["charge"]);
  });

  const ambiguous: [Behaviour, charges: number, calls: string[]][] = [
    ["stall-before", 0, ["charge", "query", "charge"]],
    ["stall-after", 1, ["charge", "query"]],
    ["fail-before", 0, ["charge", "query", "charge"]],
    ["fail-after", 1, ["charge", "query"]],
    ["reset-after", 1, ["charge", "query"]],
    ["half-an-answer", 1, ["charge", "query"]],
  ];
  test.each(ambiguous)("that leaves the outcome open holds the key, and a takeover asks first: %s", async (...row) => {
    const [behaviour, charges, calls] = row;
    const key = randomUUID();
    lab.processor.tell(key, behaviour);
    await using service = await lab.open({ processorTimeoutMs: 300 });
    const open = await service.send(chargeOf(key));
    expect(open).toMatchObject({ status: 504, isReplay: false });
    expect(open.headers["content-type"]).toMatch(/^application\/problem\+json/);
    expect(Number(open.headers["retry-after"])).toBeGreaterThanOrEqual(59);
    expect(Number(open.headers["retry-after"])).toBeLessThanOrEqual(60);
    expect(await lab.recordOf(key)).toMatchObject({ state: "in_progress", recovery_point: "intent-recorded" });
    expect(lab.processor.chargesOf(key)).toHaveLength(charges);
    expect((await lab.other.send(chargeOf(key))).status).toBe(409);
    expect((await lab.other.send(chargeOf(key, { body: orderNamed(key, { amount: 1 }) }))).status).toBe(422);
    expect(await lab.listed(key)).toMatchObject({
      scope: SCOPE,
      recoveryPoint: "intent-recorded",
      downstreamKey: downstreamKey(key),
      tries: 0,
      isForReview: false,
    });
    expect(await lab.retried(key)).toMatchObject({ status: 201, isReplay: false });
    expect(lab.processor.callsWith(downstreamKey(key))).toEqual(calls);
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test("to say what became of a call holds the key once more, however it fails", async () => {
    const key = randomUUID();
    lab.processor.tell(key, "reset-after");
    expect((await lab.one.send(chargeOf(key))).status).toBe(504);
    lab.processor.isMute = true;
    try {
      expect(await lab.retried(key)).toMatchObject({ status: 504 });
    } finally {
      lab.processor.isMute = false;
    }
    expect(await lab.recordOf(key)).toMatchObject({ state: "in_progress", recovery_point: "intent-recorded" });
    expect((await lab.retried(key)).status).toBe(201);
    expect(lab.processor.callsWith(downstreamKey(key))).toEqual(["charge", "query", "query"]);
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test("to be reached by a later holder holds the key: the first one's call may have been sent", async () => {
    await using leaving = await Processor.start();
    await using service = await lab.open({ processorUrl: leaving.url });
    const key = randomUUID();
    leaving.tell(key, "reset-after");
    expect((await service.send(chargeOf(key))).status).toBe(504);
    await leaving.stop();
    expect((await lab.retried(key, service)).status).toBe(504);
    expect(await lab.recordOf(key)).toMatchObject({ state: "in_progress", recovery_point: "intent-recorded" });
    await leaving.resume();
    expect((await lab.retried(key, service)).status).toBe(201);
    expect(leaving.chargesOf(key)).toHaveLength(1);
  });

  test("to be reached after it knew nothing of an earlier call holds the key too", async () => {
    await using leaving = await Processor.start();
    const ask: ReconcilerSteps["ask"] = async () => {
      await leaving.stop();
      return { kind: "not-found" };
    };
    await using service = await lab.open({ processorUrl: leaving.url, steps: { ask } });
    const key = randomUUID();
    leaving.tell(key, "fail-before");
    expect((await service.send(chargeOf(key))).status).toBe(504);
    expect((await lab.retried(key, service)).status).toBe(504);
    expect(await lab.recordOf(key)).toMatchObject({ state: "in_progress", recovery_point: "intent-recorded" });
  });
});

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { Keeper, ownEnvironment } from "../../../harness/lab/keeper.ts";
import { Charging, chargeOf, downstreamKey, ONCE, SCOPE, watched } from "../testing/charging.ts";
import type { Behaviour } from "../testing/processor.ts";
import { type Answer, promised } from "../testing/service.ts";
import { complete } from "./complete.ts";
import type { ReconcileOptions, ReconcilerSteps } from "./reconcile.ts";
import { recordOutcome } from "./record-outcome.ts";

let lab: Charging;
beforeAll(async () => {
  lab = await Charging.start();
});
afterAll(async () => {
  await lab[Symbol.asyncDispose]();
});

/** For what comes soon, on a machine with other work. */
const PATIENCE = { timeout: 10_000 };

describe("the reconciler", () => {
  // What other tests left open would be resolved in this one's rounds.
  beforeEach(async () => {
    await lab.database.pool.query("truncate idempotency_keys");
  });

  /** A key whose holder got no answer, and whose lease is over. */
  async function heldKey(behaviour: Behaviour): Promise<string> {
    const key = randomUUID();
    lab.processor.tell(key, behaviour);
    expect((await lab.one.send(chargeOf(key))).status).toBe(504);
    await lab.expireLease(key);
    return key;
  }

  test("leaves a live lease alone", async () => {
    const key = randomUUID();
    lab.processor.tell(key, "reset-after");
    await lab.one.send(chargeOf(key));
    await lab.reconcile();
    expect(lab.processor.callsWith(downstreamKey(key))).toEqual(["charge"]);
    expect(await lab.recordOf(key)).toMatchObject({ recovery_point: "intent-recorded", tries: 0 });
    await lab.expireLease(key);
    await lab.reconcile();
  });

  test("completes what the processor knows, as the handler would have, and a retry replays it", async () => {
    const key = await heldKey("reset-after");
    expect(await lab.reconcile()).toBe(1);
    expect(await lab.recordOf(key)).toMatchObject({ state: "completed", held_since: null });
    expect(lab.processor.callsWith(downstreamKey(key))).toEqual(["charge", "query"]);
    const replay = await lab.one.send(chargeOf(key));
    expect(replay).toMatchObject({ status: 201, isReplay: true });
    const charge = lab.processor.chargesOf(key)[0]?.id;
    const usual = await lab.one.send(chargeOf(randomUUID()));
    expect(JSON.parse(replay.body)).toMatchObject({ kind: "charge", amount: "1999", reference: key, charge });
    expect(Object.keys(JSON.parse(replay.body))).toEqual(Object.keys(JSON.parse(usual.body)));
    expect(Object.keys(replay.headers)).toEqual(expect.arrayContaining(["content-type", "location"]));
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test("completes a decline, too", async () => {
    const key = randomUUID();
    lab.processor.tell(key, "decline");
    lab.failpoints.strike(key, "downstream-called", () => ({ do: "throw" }));
    expect((await lab.one.send(watched(key))).status).toBe(504);
    await lab.expireLease(key);
    expect(await lab.reconcile()).toBe(1);
    const usual = randomUUID();
    lab.processor.tell(usual, "decline");
    const declined = await lab.one.send(chargeOf(usual));
    expect(promised(await lab.one.send(chargeOf(key)))).toEqual(promised(declined));
    expect(await lab.booksOf(key)).toEqual({ charges: 1, ledger: 0, receipts: 0 });
  });

  test("completes a recorded outcome without asking", async () => {
    const key = randomUUID();
    lab.failpoints.strike(key, "before-commit", () => ({ do: "throw" }));
    expect((await lab.one.send(watched(key))).status).toBe(504);
    await lab.expireLease(key);
    expect(await lab.reconcile()).toBe(1);
    expect(lab.processor.callsWith(downstreamKey(key))).toEqual(["charge"]);
    expect(await lab.one.send(chargeOf(key))).toMatchObject({ status: 201, isReplay: true });
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test("gives back what the processor does not know, for a retry to take at once, and never calls", async () => {
    const key = await heldKey("fail-before");
    expect(await lab.reconcile()).toBe(0);
    expect(lab.processor.callsWith(downstreamKey(key))).toEqual(["charge", "query"]);
    expect(await lab.recordOf(key)).toMatchObject({
      state: "in_progress",
      recovery_point: "intent-recorded",
      tries: 1,
    });
    expect(await lab.listed(key)).toMatchObject({ tries: 1, isForReview: false, isLeased: false });
    expect(await lab.other.send(chargeOf(key))).toMatchObject({ status: 201, isReplay: false });
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test("looks again after twice as long each time, and in the end leaves the key for review", async () => {
    const key = await heldKey("fail-before");
    const waits: number[] = [];
    for (let tries = 1; tries <= 3; tries += 1) {
      await lab.reconcile();
      const { rows } = await lab.database.pool.query(
        `select tries, extract(epoch from next_look_at - lease_expires_at)::float8 as wait
         from idempotency_keys where key = $1`,
        [key],
      );
      expect(rows[0].tries).toBe(tries);
      waits.push(Math.round(rows[0].wait));
      // Not due before that.
      await lab.reconcile();
      expect(await lab.recordOf(key)).toMatchObject({ tries });
      await lab.database.pool.query("update idempotency_keys set next_look_at = clock_timestamp() where key = $1", [
        key,
      ]);
    }
    expect(waits).toEqual([60, 120, 240]);
    await lab.reconcile();
    expect(await lab.recordOf(key)).toMatchObject({ tries: 3 });
    expect(await lab.listed(key)).toMatchObject({ scope: SCOPE, tries: 3, isForReview: true });
    // A retry resolves it all the same.
    expect((await lab.one.send(chargeOf(key))).status).toBe(201);
    expect(await lab.listed(key)).toBeUndefined();
  });

  test("gives back what it cannot ask for", async () => {
    const key = await heldKey("reset-after");
    lab.processor.isMute = true;
    try {
      expect(await lab.reconcile()).toBe(0);
    } finally {
      lab.processor.isMute = false;
    }
    expect(await lab.recordOf(key)).toMatchObject({
      state: "in_progress",
      recovery_point: "intent-recorded",
      tries: 1,
    });
    expect((await lab.one.send(chargeOf(key))).status).toBe(201);
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test("that races retries and another reconciler resolves a key once", async () => {
    for (let round = 0; round < 5; round += 1) {
      const key = await heldKey(round % 2 ? "reset-after" : "fail-before");
      const sending = Array.from({ length: 10 }, (_, index) => (index % 2 ? lab.one : lab.other).send(chargeOf(key)));
      const answers = (await Promise.all([lab.reconcile(), lab.reconcile(), ...sending])).slice(2) as Answer[];
      expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
      expect((await lab.retried(key)).status).toBe(201);
      expect(await lab.booksOf(key)).toEqual(ONCE);
    }
  });

  test("that is overtaken by a retry completes nothing and gives nothing back", async () => {
    const key = await heldKey("reset-after");
    let winner: Answer | undefined;
    const recordFirst: ReconcilerSteps["recordOutcome"] = async (...given) => {
      winner = await lab.retried(key);
      return recordOutcome(...given);
    };
    expect(await lab.reconcile({ steps: { recordOutcome: recordFirst } })).toBe(0);
    expect(winner).toMatchObject({ status: 201, isReplay: false });
    expect(promised(await lab.one.send(chargeOf(key)))).toEqual(promised(winner as Answer));
    expect(await lab.recordOf(key)).toMatchObject({ state: "completed", tries: 0 });
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test("that lost the acknowledgement of its commit leaves what it completed as it is", async () => {
    const key = await heldKey("reset-after");
    const completeUnacknowledged: ReconcilerSteps["complete"] = async (...given) => {
      await complete(...given);
      throw new Error("the connection was lost before the commit was acknowledged");
    };
    expect(await lab.reconcile({ steps: { complete: completeUnacknowledged } })).toBe(0);
    expect(await lab.recordOf(key)).toMatchObject({ state: "completed", tries: 0 });
    expect(await lab.one.send(chargeOf(key))).toMatchObject({ status: 201, isReplay: true });
  });

  test("asks at its failpoint for the key it took, and a failure there gives it back", async () => {
    const key = await heldKey("reset-after");
    lab.failpoints.strike(key, "reconciling", () => ({ do: "throw" }));
    const errors: unknown[] = [];
    const options: Partial<ReconcileOptions> = {
      everyMs: 1,
      failpoints: { url: lab.failpoints.url, replica: "reconciler" },
      onError: (error) => errors.push(error),
    };
    expect(await lab.reconcile(options)).toBe(0);
    expect(errors).toHaveLength(1);
    expect(await lab.recordOf(key)).toMatchObject({ state: "in_progress", tries: 1 });
    await sleep(10);
    expect(await lab.reconcile(options)).toBe(1);
    expect(lab.failpoints.passesOf(key)).toEqual(["reconciling", "reconciling"]);
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test("that is told to end leaves the rest for the next one", async () => {
    await heldKey("reset-after");
    expect(await lab.reconcile({ signal: AbortSignal.abort() })).toBe(0);
    expect(await lab.reconcile()).toBe(1);
  });

  test("as a process resolves held keys by itself, and ends when it is told to", async () => {
    await using keeper = new Keeper();
    const directory = await keeper.makeDirectory("reference-test-");
    const settings = {
      DATABASE_URL: lab.database.url,
      PROCESSOR_URL: lab.processor.url,
      LEASE_MS: "1000",
      RECONCILE_EVERY_MS: "50",
    };
    const keys = await Promise.all([heldKey("reset-after"), heldKey("fail-after")]);
    const reconciler = await keeper.start({
      file: process.execPath,
      args: [join(import.meta.dirname, "..", "reconciler.js")],
      env: { ...ownEnvironment(), ...settings },
      directory: "/",
      log: join(directory, "reconciler.log"),
      secrets: [],
      stopSignal: "SIGTERM",
    });
    for (const key of keys) {
      await vi.waitFor(async () => expect(await lab.recordOf(key)).toMatchObject({ state: "completed" }), PATIENCE);
      expect(await lab.one.send(chargeOf(key))).toMatchObject({ status: 201, isReplay: true });
      expect(await lab.booksOf(key)).toEqual(ONCE);
    }
    await reconciler.signal("SIGTERM");
    expect(await reconciler.exited).toEqual({ code: 0, signal: null });
  });
});

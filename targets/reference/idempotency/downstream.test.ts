import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Phase } from "../failpoints.ts";
import { Charging, chargeOf, downstreamKey, ONCE, watched } from "../testing/charging.ts";
import { Gate } from "../testing/gate.ts";
import { type Answer, orderNamed, promised } from "../testing/service.ts";
import { claimKey } from "./claim.ts";
import { cleanUp } from "./clean-up.ts";
import { ClaimLost, complete } from "./complete.ts";
import { giveBack } from "./give-back.ts";
import { recordIntent } from "./record-intent.ts";
import { recordOutcome } from "./record-outcome.ts";
import { release } from "./release.ts";
import { renew } from "./renew.ts";
import { takeOver } from "./take-over.ts";

let lab: Charging;
beforeAll(async () => {
  lab = await Charging.start();
});
afterAll(async () => {
  await lab[Symbol.asyncDispose]();
});

describe("a holder that lost its lease", () => {
  /** Stops at the phase until its key was taken over and finished by another replica. */
  async function overtakenAt(phase: Phase, key: string): Promise<{ late: Answer; winner: Answer }> {
    const gate = new Gate();
    lab.failpoints.strike(key, phase, async () => {
      await gate.pass();
      return { do: "go" };
    });
    const waiting = lab.one.send(watched(key));
    await gate.reached;
    const winner = await lab.retried(key);
    gate.open();
    return { late: await waiting, winner };
  }

  test.each<[Phase, string[]]>([
    // Its successor found nothing and called; the zombie itself does not.
    ["claimed", ["charge"]],
    ["intent-recorded", ["query", "charge"]],
    ["downstream-called", ["charge", "query"]],
    ["outcome-recorded", ["charge"]],
  ])("neither calls, records nor completes, and answers as the winner did: %s", async (phase, calls) => {
    const key = randomUUID();
    const { late, winner } = await overtakenAt(phase, key);
    expect(winner).toMatchObject({ status: 201, isReplay: false });
    expect(late.isReplay).toBe(true);
    expect(promised(late)).toEqual(promised(winner));
    expect(lab.processor.callsWith(downstreamKey(key))).toEqual(calls);
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test("cannot release what its successor holds", async () => {
    const key = randomUUID();
    const [zombie, winner] = [new Gate(), new Gate()];
    lab.failpoints.strike(key, "intent-recorded", async () => {
      await zombie.pass();
      return { do: "throw" };
    });
    const late = lab.one.send(watched(key));
    await zombie.reached;
    await lab.expireLease(key);
    lab.failpoints.strike(key, "downstream-called", async () => {
      await winner.pass();
      return { do: "go" };
    });
    const winning = lab.other.send(watched(key));
    await winner.reached;
    zombie.open();
    expect((await late).status).toBe(500);
    expect(await lab.recordOf(key)).toMatchObject({ state: "in_progress", recovery_point: "intent-recorded" });
    winner.open();
    expect((await winning).status).toBe(201);
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test("is refused by every statement", async () => {
    const identity = { scope: "test", key: randomUUID() };
    const durations = { leaseMs: 60_000, retentionMs: 60_000 };
    const first = await claimKey(lab.one.pool, identity, "hash", durations);
    if (!first.won) throw new Error("nobody else claims this key");
    const intent = { downstreamKey: "k", caller: "alice", fields: {} };
    await recordIntent(lab.one.pool, first.claim, intent, 60_000);
    await lab.expireLease(identity.key);
    const second = await takeOver(lab.one.pool, identity, first.claim, "hash", durations);
    expect(second?.progress).toEqual({ point: "intent-recorded" });
    const before = await lab.recordOf(identity.key);
    const outcome = { charge: "c", status: "succeeded" } as const;
    const zombie = first.claim;
    await expect(recordIntent(lab.one.pool, zombie, intent, 60_000)).rejects.toBeInstanceOf(ClaimLost);
    await expect(renew(lab.one.pool, zombie, 60_000)).rejects.toBeInstanceOf(ClaimLost);
    await expect(recordOutcome(lab.one.pool, zombie, outcome)).rejects.toBeInstanceOf(ClaimLost);
    await release(lab.one.pool, zombie);
    await giveBack(lab.one.pool, zombie, 1);
    const answer = async () => ({ status: 201, headers: {}, body: "" });
    await expect(complete(lab.one.pool, zombie, answer)).rejects.toBeInstanceOf(ClaimLost);
    expect(await lab.recordOf(identity.key)).toEqual(before);
  });

  test.each(["recordIntent", "renew"] as const)("calls nobody, even if none has taken over: %s", async (step) => {
    const identity = { scope: "test", key: randomUUID() };
    const held = await claimKey(lab.one.pool, identity, "hash", { leaseMs: 0, retentionMs: 60_000 });
    if (!held.won) throw new Error("nobody else claims this key");
    const intent = { downstreamKey: "k", caller: "alice", fields: {} };
    const act = {
      recordIntent: () => recordIntent(lab.one.pool, held.claim, intent, 1),
      renew: () => renew(lab.one.pool, held.claim, 1),
    };
    await expect(act[step]()).rejects.toBeInstanceOf(ClaimLost);
  });

  test("and forty retries at once make one charge", async () => {
    const key = randomUUID();
    lab.processor.tell(key, "fail-before");
    expect((await lab.one.send(chargeOf(key))).status).toBe(504);
    await lab.expireLease(key);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 ? lab.one : lab.other).send(chargeOf(key))),
    );
    expect(answers.filter(({ status, isReplay }) => status === 201 && !isReplay)).toHaveLength(1);
    expect(lab.processor.callsWith(downstreamKey(key))).toEqual(["charge", "query", "charge"]);
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });
});

describe("a key whose outcome is open", () => {
  test("outlives its retention, for the cleanup and for every other request", async () => {
    const key = randomUUID();
    lab.failpoints.strike(key, "outcome-recorded", () => ({ do: "throw" }));
    const asked = randomUUID();
    lab.processor.tell(asked, "reset-after");
    expect((await lab.one.send(watched(key))).status).toBe(504);
    expect((await lab.one.send(chargeOf(asked))).status).toBe(504);
    for (const held of [key, asked]) {
      await lab.expireLease(held);
      await lab.expireRetention(held);
      await cleanUp(lab.database.pool);
      const another = chargeOf(held, { body: orderNamed(held, { amount: 1 }) });
      expect((await lab.other.send(another)).status).toBe(422);
      expect(await lab.other.send(chargeOf(held))).toMatchObject({ status: 201, isReplay: false });
      expect(await lab.booksOf(held)).toEqual(ONCE);
    }
  });

  test("is taken from nobody whose lease lasts, not even by the statement itself", async () => {
    const identity = { scope: "test", key: randomUUID() };
    const durations = { leaseMs: 60_000, retentionMs: 60_000 };
    const held = await claimKey(lab.one.pool, identity, "hash", durations);
    if (!held.won) throw new Error("nobody else claims this key");
    expect(await takeOver(lab.one.pool, identity, held.claim, "hash", durations)).toBeNull();
    await recordIntent(lab.one.pool, held.claim, { downstreamKey: "k", caller: "alice", fields: {} }, 60_000);
    expect(await takeOver(lab.one.pool, identity, held.claim, "hash", durations)).toBeNull();
  });

  test("is held, and its client told to come back, even when nobody can say how long the lease is", async () => {
    const hold = async () => {
      throw new Error("no database");
    };
    await using service = await lab.open({ steps: { hold } });
    const key = randomUUID();
    lab.processor.tell(key, "reset-after");
    expect(await service.send(chargeOf(key))).toMatchObject({ status: 504, headers: { "retry-after": "60" } });
    expect((await lab.retried(key)).status).toBe(201);
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test("only because the acknowledgement of its commit was lost is answered at once by a retry", async () => {
    const completeUnacknowledged: typeof complete = async (...given) => {
      await complete(...given);
      throw new Error("the connection was lost before the commit was acknowledged");
    };
    await using service = await lab.open({ steps: { complete: completeUnacknowledged } });
    const key = randomUUID();
    expect(await service.send(chargeOf(key))).toMatchObject({ status: 504, headers: { "retry-after": "1" } });
    expect(await lab.one.send(chargeOf(key))).toMatchObject({ status: 201, isReplay: true });
    expect(await lab.booksOf(key)).toEqual(ONCE);
  });

  test("cannot be taken over by another request, not even by the statement itself", async () => {
    const identity = { scope: "test", key: randomUUID() };
    const held = await claimKey(lab.one.pool, identity, "hash", { leaseMs: 60_000, retentionMs: 0 });
    if (!held.won) throw new Error("nobody else claims this key");
    await recordIntent(lab.one.pool, held.claim, { downstreamKey: "k", caller: "alice", fields: {} }, 0);
    const durations = { leaseMs: 60_000, retentionMs: 60_000 };
    expect(await takeOver(lab.one.pool, identity, held.claim, "other", durations)).toBeNull();
    expect(await takeOver(lab.one.pool, identity, held.claim, "hash", durations)).not.toBeNull();
  });

  test("is new after its retention once it is resolved", async () => {
    const key = randomUUID();
    expect((await lab.one.send(chargeOf(key))).status).toBe(201);
    await lab.expireRetention(key);
    // The processor knows the key for longer; the second operation of this key is the first one's charge to it.
    expect(await lab.one.send(chargeOf(key))).toMatchObject({ status: 201, isReplay: false });
    expect(lab.processor.chargesOf(key)).toHaveLength(1);
  });
});

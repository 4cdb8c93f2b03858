import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FingerprintVersion } from "./idempotency/fingerprint.ts";
import type { Steps } from "./idempotency/plugin.ts";
import { Database } from "./testing/database.ts";
import { Gate } from "./testing/gate.ts";
import { orderNamed, Service } from "./testing/service.ts";
import { type Store, stores } from "./testing/stores.ts";

let database: Database;
beforeAll(async () => {
  database = await Database.start();
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

const deployments: [FingerprintVersion, FingerprintVersion][] = [
  [1, 2],
  // Taken back.
  [2, 1],
];

describe.each(stores)("with $name", (store: Store) => {
  const serviceOf = (
    fingerprintVersion: FingerprintVersion,
    steps: Partial<Steps> = {},
    gate?: Gate,
  ): Promise<Service> =>
    Service.open(database.url, { fingerprintVersion, steps: { ...store.steps, ...steps }, ...(gate ? { gate } : {}) });

  test.each(deployments)(
    "what algorithm %d stored is replayed under algorithm %d, and another payload is refused",
    async (stored, now) => {
      await using before = await serviceOf(stored);
      await using after = await serviceOf(now);
      const key = randomUUID();
      const first = await before.send({ key, body: orderNamed(key) });
      const { rows } = await database.pool.query(`select request_hash from ${store.table} where key = $1`, [key]);
      expect(rows[0].request_hash.includes(":")).toBe(stored === 2);
      const retry = await after.send({ key, body: orderNamed(key) });
      expect(retry).toMatchObject({ status: first.status, body: first.body, isReplay: true });
      expect((await after.send({ key, body: orderNamed(key, { amount: 1 }) })).status).toBe(422);
      expect((await before.send({ key, body: orderNamed(key) })).isReplay).toBe(true);
    },
  );

  // Without a lease there is nothing to take over: what is in flight ends with its transaction.
  test.runIf(store.hasLease).each(deployments)(
    "a key in flight under algorithm %d is taken over under algorithm %d when its lease is over",
    async (held, now) => {
      const gate = new Gate();
      const complete: Steps["complete"] = async (...given) => {
        await gate.pass();
        return store.steps.complete(...given);
      };
      await using before = await serviceOf(held, { complete }, gate);
      await using after = await serviceOf(now);
      const key = randomUUID();
      const zombie = before.send({ key, body: orderNamed(key) });
      await gate.reached;
      expect((await after.send({ key, body: orderNamed(key) })).status).toBe(409);
      await database.pool.query(
        `update ${store.table} set lease_expires_at = clock_timestamp() - interval '1 ms' where key = $1`,
        [key],
      );
      const taken = await after.send({ key, body: orderNamed(key) });
      expect(taken.status).toBe(201);
      gate.open();
      expect(await zombie).toMatchObject({ status: 201, body: taken.body, isReplay: true });
      const { rows } = await database.pool.query("select from ledger where reference = $1", [key]);
      expect(rows).toHaveLength(1);
    },
  );
});

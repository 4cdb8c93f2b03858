import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Steps } from "../reference/idempotency/plugin.ts";
import { Database } from "../reference/testing/database.ts";
import { orderNamed, promised, Service } from "../reference/testing/service.ts";
import { StatementCounter } from "../reference/testing/statements.ts";
import { insertAndCatch } from "./insert-and-catch/claim.ts";
import { selectForUpdateFirst } from "./select-for-update-first/claim.ts";
import { serializableAndRetry } from "./serializable-and-retry/claim.ts";

let database: Database;
beforeAll(async () => {
  database = await Database.start();
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

interface Choice {
  readonly claim: Steps["claim"];
  readonly first: readonly string[];
  /** Statements and writing transactions of a replay. */
  readonly replay: { readonly statements: readonly string[]; readonly commits: number };
}

const COMPLETION = ["BEGIN", "INSERT", "UPDATE", "COMMIT"];

const choices: readonly Choice[] = [
  {
    claim: insertAndCatch,
    first: ["INSERT"],
    // The insert that failed is not among the statements that were carried out; its transaction has its number.
    replay: { statements: ["SELECT"], commits: 1 },
  },
  {
    claim: selectForUpdateFirst,
    first: ["BEGIN", "SELECT", "INSERT", "COMMIT"],
    replay: { statements: ["BEGIN", "SELECT", "COMMIT"], commits: 1 },
  },
  {
    claim: serializableAndRetry,
    first: ["BEGIN", "SELECT", "INSERT", "COMMIT"],
    replay: { statements: ["BEGIN", "SELECT", "COMMIT"], commits: 0 },
  },
];

const order = (key: string) => ({ key, body: orderNamed(key) });

async function effectsOf(reference: string): Promise<number> {
  const { rows } = await database.pool.query("select from ledger where reference = $1", [reference]);
  return rows.length;
}

describe.each(choices)("the claim of $claim.name", ({ claim, first, replay }) => {
  let one: Service;
  let other: Service;
  beforeAll(async () => {
    one = await Service.open(database.url, { steps: { claim }, workMs: 20 });
    other = await Service.open(database.url, { steps: { claim }, workMs: 20 });
  });
  afterAll(async () => {
    await Promise.all([one[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
  });

  test("gives a key to one of fifty duplicates on two replicas", async () => {
    for (let round = 0; round < 5; round += 1) {
      const key = randomUUID();
      const sent = Array.from({ length: 50 }, (_, index) => (index % 2 ? one : other).send(order(key)));
      const answers = await Promise.all(sent);
      expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
      expect(answers.filter(({ status, isReplay }) => status === 201 && !isReplay)).toHaveLength(1);
      expect(await effectsOf(key)).toBe(1);
    }
  });

  test("gives each of fifty keys at once to its request", async () => {
    const keys = Array.from({ length: 50 }, () => randomUUID());
    const answers = await Promise.all(keys.map((key, index) => (index % 2 ? one : other).send(order(key))));
    expect(answers.filter(({ status, isReplay }) => status !== 201 || isReplay)).toEqual([]);
  });

  test("costs what is said of it", async () => {
    await using service = await Service.open(database.url, { steps: { claim } });
    const counter = new StatementCounter(service.pool, database.pool);
    const key = randomUUID();
    const used = await counter.costOf(async () => expect((await service.send(order(key))).status).toBe(201));
    expect(used).toEqual({ statements: [...first, ...COMPLETION], commits: 2 });
    expect(await counter.costOf(async () => expect((await service.send(order(key))).isReplay).toBe(true))).toEqual(
      replay,
    );
  });

  test("does not wait for who has the record locked", async () => {
    const key = randomUUID();
    const answered = await one.send(order(key));
    const holder = await database.pool.connect();
    await holder.query("begin");
    await holder.query("select from idempotency_keys where key = $1 for update", [key]);
    expect(promised(await one.send(order(key)))).toEqual(promised(answered));
    await holder.query("rollback");
    holder.release();
  });
});

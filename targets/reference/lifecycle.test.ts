import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ClaimLost } from "./idempotency/complete.ts";
import type { Steps } from "./idempotency/plugin.ts";
import { Problem } from "./idempotency/problem.ts";
import { openPool } from "./pool.ts";
import { Database } from "./testing/database.ts";
import { Gate } from "./testing/gate.ts";
import { type Answer, headersOf, orderNamed, promised, Service } from "./testing/service.ts";
import { type Store, stores } from "./testing/stores.ts";

let database: Database;
beforeAll(async () => {
  database = await Database.start();
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

async function effectsOf(reference: string): Promise<number> {
  const { rows } = await database.pool.query("select from ledger where reference = $1", [reference]);
  return rows.length;
}

/** For what comes soon, on a machine with other work. */
const PATIENCE = { timeout: 10_000 };

const statusesOf = (answers: readonly Answer[]): number[] => [...new Set(answers.map(({ status }) => status))].sort();

const times = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index));

describe.each(stores)("with $name", (store: Store) => {
  /** Of a claim that others see, and that can be taken over. What is promised without it: one-transaction.test.ts. */
  const leased = test.runIf(store.hasLease);

  /** Two replicas, as little alike as they may be. */
  let one: Service;
  let other: Service;
  beforeAll(async () => {
    one = await Service.open(database.url, { workMs: 20, steps: store.steps });
    other = await Service.open(database.url, { workMs: 20, steps: store.steps });
  });
  afterAll(async () => {
    await Promise.all([one[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
  });

  /** A replica whose completion waits before its transaction begins. */
  async function heldService(gate: Gate, disconnected: Steps["disconnected"] = async () => {}): Promise<Service> {
    const complete: Steps["complete"] = async (...given) => {
      await gate.pass();
      return store.steps.complete(...given);
    };
    return Service.open(database.url, { gate, steps: { ...store.steps, complete, disconnected } });
  }

  const expireLease = (key: string): Promise<unknown> =>
    database.pool.query(
      `update ${store.table} set lease_expires_at = clock_timestamp() - interval '1 ms' where key = $1`,
      [key],
    );
  const expireRetention = (key: string): Promise<unknown> =>
    database.pool.query(`update ${store.table} set expires_at = clock_timestamp() - interval '1 ms' where key = $1`, [
      key,
    ]);
  const recordsOf = async (key: string): Promise<{ state: string; fencing_token: string }[]> => {
    const { rows } = await database.pool.query(`select * from ${store.table} where key = $1`, [key]);
    return rows;
  };

  test("fifty duplicates on two replicas have one effect, and every one that did not wait was told to", async () => {
    for (let round = 0; round < 5; round += 1) {
      const key = randomUUID();
      const sent = { key, body: orderNamed(key) };
      const answers = await Promise.all(times(50, (index) => (index % 2 ? one : other).send(sent)));
      expect(statusesOf(answers).filter((status) => status !== 201 && status !== 409)).toEqual([]);
      expect(answers.filter(({ status, isReplay }) => status === 201 && !isReplay)).toHaveLength(1);
      expect(new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body)).size).toBe(1);
      expect(await effectsOf(key)).toBe(1);
      expect(await recordsOf(key)).toMatchObject([{ state: "completed" }]);
    }
  });

  test("a replay is the first answer byte for byte, marked, on every replica", async () => {
    const key = randomUUID();
    const first = await one.send({ key, body: orderNamed(key) });
    expect(first).toMatchObject({ status: 201, isReplay: false });
    expect(first.headers["location"]).toBe(`/orders/${JSON.parse(first.body).id}`);
    for (const service of [one, other]) {
      const replay = await service.send({ key, body: orderNamed(key) });
      expect(replay.isReplay).toBe(true);
      expect(promised(replay)).toEqual(promised(first));
    }
    expect(await effectsOf(key)).toBe(1);
  });

  test("another spelling of the request replays", async () => {
    const key = randomUUID();
    const first = await one.send({ key, body: orderNamed(key) });
    const spelling = ` { "reference" : ${JSON.stringify(key)}, "currency":"USD", "amount":1.999e3, "item":"b\\u006fok"}`;
    expect(promised(await other.send({ key, body: spelling }))).toEqual(promised(first));
  });

  test.each([
    ["amount", 2000],
    ["currency", "eur"],
    ["item", "pen"],
    ["reference", "another"],
  ])("another %s is a mismatch that names itself, does nothing and leaves the original", async (field, value) => {
    const key = randomUUID();
    const first = await one.send({ key, body: orderNamed(key) });
    const mismatch = await other.send({ key, body: orderNamed(key, { [field]: value }) });
    expect(mismatch).toMatchObject({ status: 422, isReplay: false });
    expect(mismatch.headers["content-type"]).toMatch(/^application\/problem\+json/);
    expect(JSON.parse(mismatch.body).title).toBe("key reused");
    expect(mismatch.body).not.toContain("book");
    expect(await effectsOf(key)).toBe(1);
    expect(await effectsOf("another")).toBe(0);
    expect(promised(await one.send({ key, body: orderNamed(key) }))).toEqual(promised(first));
  });

  test.each([
    ["caller", { caller: "bob" }],
    ["endpoint", { path: "/refunds" }],
    ["query", { path: "/orders?channel=phone" }],
  ])("another %s with the same key is another operation", async (_, elsewhere) => {
    const key = randomUUID();
    const first = await one.send({ key, body: orderNamed(key) });
    const second = await other.send({ key, body: orderNamed(key), ...elsewhere });
    expect(second).toMatchObject({ status: 201, isReplay: false });
    expect(second.body).not.toBe(first.body);
    expect(await effectsOf(key)).toBe(2);
  });

  test("queries that a server reads as two requests are two operations, and the order of names makes none", async () => {
    const key = randomUUID();
    const paths = ["/orders?a=1&a=2", "/orders?a=1,2", "/orders?a=1%2C2&b", "/orders?a=1&b=2", "/orders?b=2&a=1"];
    const answers: Answer[] = [];
    for (const path of paths) answers.push(await one.send({ key, body: orderNamed(key), path }));
    expect(answers.map(({ status, isReplay }) => [status, isReplay])).toEqual([
      [201, false],
      [201, false],
      [201, false],
      [201, false],
      [201, true],
    ]);
  });

  test("a query of any length that a server takes is no reason to fail", async () => {
    const key = randomUUID();
    const noise = times(400, () => randomUUID()).join("");
    const sent = { key, body: orderNamed(key), path: `/orders?noise=${noise}` };
    const first = await one.send(sent);
    expect(first.status).toBe(201);
    expect(promised(await one.send(sent))).toEqual(promised(first));
  });

  leased("a duplicate of what is in flight is told how long to wait, and the original goes on", async () => {
    const gate = new Gate();
    await using holder = await heldService(gate);
    const key = randomUUID();
    const first = holder.send({ key, body: orderNamed(key) });
    await gate.reached;
    const duplicate = await one.send({ key, body: orderNamed(key) });
    expect(duplicate).toMatchObject({ status: 409, isReplay: false });
    expect(duplicate.headers["content-type"]).toMatch(/^application\/problem\+json/);
    expect(Number(duplicate.headers["retry-after"])).toBeGreaterThanOrEqual(59);
    expect(Number(duplicate.headers["retry-after"])).toBeLessThanOrEqual(60);
    expect((await one.send({ key, body: orderNamed(key, { item: "pen" }) })).status).toBe(422);
    gate.open();
    const answered = await first;
    expect(promised(await one.send({ key, body: orderNamed(key) }))).toEqual(promised(answered));
    expect(await effectsOf(key)).toBe(1);
  });

  test("a validation error is stored and replayed, and a corrected request needs another key", async () => {
    const key = randomUUID();
    const invalid = orderNamed(key, { amount: -1 });
    const first = await one.send({ key, body: invalid });
    expect(first).toMatchObject({ status: 400, isReplay: false });
    const replay = await other.send({ key, body: invalid });
    expect(replay.isReplay).toBe(true);
    expect(promised(replay)).toEqual(promised(first));
    expect((await one.send({ key, body: orderNamed(key) })).status).toBe(422);
    expect(await effectsOf(key)).toBe(0);
  });

  test("an invalid request never passes for a valid one whose fields look like it", async () => {
    // A valid order's amount is kept as text; sent as text it is invalid.
    const lookalike = (key: string) => orderNamed(key, { amount: "1999" });
    const validFirst = randomUUID();
    expect((await one.send({ key: validFirst, body: orderNamed(validFirst) })).status).toBe(201);
    expect((await one.send({ key: validFirst, body: lookalike(validFirst) })).status).toBe(422);
    const invalidFirst = randomUUID();
    expect((await one.send({ key: invalidFirst, body: lookalike(invalidFirst) })).status).toBe(400);
    expect((await one.send({ key: invalidFirst, body: orderNamed(invalidFirst) })).status).toBe(422);
  });

  leased("a failure before any effect frees the key for the same request, and for no other", async () => {
    const key = randomUUID();
    const failed = await one.send({ key, body: orderNamed(key), headers: { "lab-fail": "before-effect" } });
    expect(failed).toMatchObject({ status: 503, isReplay: false });
    expect(await effectsOf(key)).toBe(0);
    expect((await other.send({ key, body: orderNamed(key, { item: "pen" }) })).status).toBe(422);
    const again = await other.send({ key, body: orderNamed(key) });
    expect(again).toMatchObject({ status: 201, isReplay: false });
    expect(promised(await one.send({ key, body: orderNamed(key) }))).toEqual(promised(again));
    expect(await effectsOf(key)).toBe(1);
  });

  leased(
    "an expired lease is taken over once, and the zombie finishes nothing and gets the winner's answer",
    async () => {
      const gate = new Gate();
      await using zombie = await heldService(gate);
      const key = randomUUID();
      const sent = { key, body: orderNamed(key) };
      const late = zombie.send(sent);
      await gate.reached;
      await expireLease(key);
      const answers = await Promise.all(times(40, (index) => (index % 2 ? one : other).send(sent)));
      expect(statusesOf(answers).filter((status) => status !== 201 && status !== 409)).toEqual([]);
      const winners = answers.filter(({ status, isReplay }) => status === 201 && !isReplay);
      expect(winners).toHaveLength(1);
      gate.open();
      expect(await late).toMatchObject({ status: 201, isReplay: true, body: winners[0]?.body });
      expect(await effectsOf(key)).toBe(1);
    },
  );

  leased("a zombie that finds the winner still at work tells its client to wait and disturbs nobody", async () => {
    const [zombieGate, winnerGate] = [new Gate(), new Gate()];
    await using zombie = await heldService(zombieGate);
    await using winner = await heldService(winnerGate);
    const key = randomUUID();
    const sent = { key, body: orderNamed(key) };
    const late = zombie.send(sent);
    await zombieGate.reached;
    await expireLease(key);
    const winning = winner.send(sent);
    await winnerGate.reached;
    // Even now that the winner's own lease is over: nobody has taken its claim, so it may still finish.
    await expireLease(key);
    zombieGate.open();
    expect(await late).toMatchObject({ status: 409, headers: { "retry-after": "1" } });
    winnerGate.open();
    expect(await winning).toMatchObject({ status: 201, isReplay: false });
    expect(await effectsOf(key)).toBe(1);
  });

  leased("a zombie whose key has gone to another request gets neither that answer nor an effect", async () => {
    const gate = new Gate();
    await using zombie = await heldService(gate);
    const key = randomUUID();
    const late = zombie.send({ key, body: orderNamed(key) });
    await gate.reached;
    await expireLease(key);
    await expireRetention(key);
    const winner = await one.send({ key, body: orderNamed(key, { item: "pen" }) });
    expect(winner.status).toBe(201);
    gate.open();
    expect((await late).status).toBe(422);
    expect(await effectsOf(key)).toBe(1);
  });

  leased("a zombie whose operation was done, answered and forgotten meanwhile does not do it again", async () => {
    const gate = new Gate();
    await using zombie = await heldService(gate);
    const key = randomUUID();
    const sent = { key, body: orderNamed(key) };
    const late = zombie.send(sent);
    await gate.reached;
    await expireLease(key);
    expect(await one.send(sent)).toMatchObject({ status: 201, isReplay: false });
    await database.pool.query(`delete from ${store.table} where key = $1`, [key]);
    gate.open();
    expect(await late).toMatchObject({ status: 409, headers: { "retry-after": "1" } });
    expect(await effectsOf(key)).toBe(1);
    // It holds nothing either: whoever asks now, asks anew.
    expect(await other.send(sent)).toMatchObject({ status: 201, isReplay: false });
  });

  leased("a completion whose claim was taken leaves no ledger row and no answer", async () => {
    const identity = { scope: "test", key: randomUUID() };
    const durations = { leaseMs: 60_000, retentionMs: 60_000 };
    const held = await store.steps.claim(one.pool, identity, "hash", durations);
    if (!held.won) throw new Error("nobody else claims this key");
    const lost = { ...held.claim, fencingToken: String(BigInt(held.claim.fencingToken) + 1n) };
    const effect: Parameters<Steps["complete"]>[2] = async (transaction) => {
      await transaction.query(
        "insert into ledger (kind, caller, reference, amount, currency, item) values ('order', 'a', $1, 1, 'usd', 'b')",
        [identity.key],
      );
      return { status: 201, headers: {}, body: "" };
    };
    await expect(store.steps.complete(one.pool, lost, effect)).rejects.toBeInstanceOf(ClaimLost);
    expect(await effectsOf(identity.key)).toBe(0);
    expect(await recordsOf(identity.key)).toMatchObject([{ state: "in_progress", response_status: null }]);
    await store.steps.complete(one.pool, held.claim, effect);
    expect(await effectsOf(identity.key)).toBe(1);
  });

  leased("a token is never given twice, not even after its record was forgotten", async () => {
    const identity = { scope: "test", key: randomUUID() };
    const over = { leaseMs: 0, retentionMs: 0 };
    const first = await store.steps.claim(one.pool, identity, "first", over);
    const found = await store.steps.claim(one.pool, identity, "first", over);
    if (!first.won || found.won) throw new Error("nobody else claims this key");
    const second = await store.steps.takeOver(one.pool, identity, found.record, "first", over);
    if (second === null) throw new Error("nobody else takes this key over");
    await database.pool.query(`delete from ${store.table} where key = $1`, [identity.key]);
    const holder = await store.steps.claim(one.pool, identity, "other", { leaseMs: 60_000, retentionMs: 60_000 });
    if (!holder.won) throw new Error("nobody else claims this key");
    const answer = async () => ({ status: 201, headers: {}, body: "" });
    for (const zombie of [first.claim, second]) {
      await expect(store.steps.complete(one.pool, zombie, answer)).rejects.toBeInstanceOf(ClaimLost);
    }
    await store.steps.complete(one.pool, holder.claim, answer);
  });

  leased.each(["commit", "rollback"])(
    "a claim that meets one that is not committed yet waits for its %s",
    async (end) => {
      const identity = { scope: "test", key: randomUUID() };
      const durations = { leaseMs: 60_000, retentionMs: 60_000 };
      // With one connection, a pool is a session.
      const session = openPool({ databaseUrl: database.url, poolSize: 1, leaseMs: 60_000 });
      await store.steps.cleanUp(session, new AbortController().signal);
      await session.query("begin");
      const first = await store.steps.claim(session, identity, "hash", durations);
      const second = store.steps.claim(one.pool, identity, "hash", durations);
      await vi.waitFor(async () => {
        const { rows } = await database.pool.query("select from pg_locks where not granted");
        expect(rows.length).toBeGreaterThan(0);
      });
      await session.query(end);
      await session.end();
      expect(first.won).toBe(true);
      expect((await second).won).toBe(end === "rollback");
      expect(await recordsOf(identity.key)).toHaveLength(1);
    },
  );

  leased("whoever saw a record that was taken over since takes nothing over", async () => {
    const identity = { scope: "test", key: randomUUID() };
    const over = { leaseMs: 0, retentionMs: 0 };
    await store.steps.claim(one.pool, identity, "hash", over);
    const found = await store.steps.claim(one.pool, identity, "hash", over);
    if (found.won) throw new Error("the key is claimed");
    expect(await store.steps.takeOver(one.pool, identity, found.record, "hash", over)).not.toBeNull();
    expect(await store.steps.takeOver(other.pool, identity, found.record, "hash", over)).toBeNull();
  });

  leased("only the holder releases", async () => {
    const failure = new Problem(503, "unavailable", "The handler failed");
    const identity = { scope: "test", key: randomUUID() };
    const held = await store.steps.claim(one.pool, identity, "hash", { leaseMs: 60_000, retentionMs: 60_000 });
    if (!held.won) throw new Error("nobody else claims this key");
    await store.steps.fail(one.pool, { ...held.claim, fencingToken: "0" }, failure);
    expect(await recordsOf(identity.key)).toMatchObject([{ state: "in_progress" }]);
    await store.steps.fail(one.pool, held.claim, failure);
    expect(await recordsOf(identity.key)).toMatchObject([{ state: "failed_retryable" }]);
  });

  test("within retention a key replays, after it the key is new, whether or not the cleanup has run", async () => {
    await using service = await Service.open(database.url, { retentionMs: 400, steps: store.steps });
    const key = randomUUID();
    const first = await service.send({ key, body: orderNamed(key) });
    expect((await service.send({ key, body: orderNamed(key) })).isReplay).toBe(true);
    await sleep(410);
    // Another request too: the key is as good as never used.
    const second = await service.send({ key, body: orderNamed(key, { item: "pen" }) });
    expect(second).toMatchObject({ status: 201, isReplay: false });
    expect(second.body).not.toBe(first.body);
    expect((await service.send({ key, body: orderNamed(key, { item: "pen" }) })).isReplay).toBe(true);
    expect(await effectsOf(key)).toBe(2);
    expect(await recordsOf(key)).toHaveLength(1);
  });

  test("after retention many duplicates are one new operation", async () => {
    const key = randomUUID();
    await one.send({ key, body: orderNamed(key) });
    await expireRetention(key);
    const answers = await Promise.all(
      times(40, (index) => (index % 2 ? one : other).send({ key, body: orderNamed(key) })),
    );
    expect(answers.filter(({ status, isReplay }) => status === 201 && !isReplay)).toHaveLength(1);
    expect(await effectsOf(key)).toBe(2);
    expect(await recordsOf(key)).toHaveLength(1);
  });

  test("a cleanup beside the reuse of what it removes costs no key its one new operation", async () => {
    const keys = times(40, () => randomUUID());
    await Promise.all(keys.map((key) => one.send({ key, body: orderNamed(key) })));
    await Promise.all(keys.map(expireRetention));
    const cleaning = times(10, () => store.steps.cleanUp(database.pool, new AbortController().signal));
    const sending = [...keys, ...keys].map((key, index) =>
      (index % 2 ? one : other).send({ key, body: orderNamed(key) }),
    );
    const answers = await Promise.all(sending);
    await Promise.all(cleaning);
    expect(statusesOf(answers).filter((status) => status !== 201 && status !== 409)).toEqual([]);
    for (const key of keys) {
      expect(await effectsOf(key)).toBe(2);
      expect(await recordsOf(key)).toMatchObject([{ state: "completed" }]);
    }
  });

  test("a claim that is still at work outlives its retention", async () => {
    const gate = new Gate();
    await using holder = await heldService(gate);
    const key = randomUUID();
    const first = holder.send({ key, body: orderNamed(key) });
    await gate.reached;
    await expireRetention(key);
    expect((await one.send({ key, body: orderNamed(key) })).status).toBe(409);
    gate.open();
    expect((await first).status).toBe(201);
    expect(await effectsOf(key)).toBe(1);
  });

  test("a connection lost in mid-transaction fails that request alone, and a retry executes", async () => {
    let isFirst = true;
    const complete: Steps["complete"] = (pool, claim, effect) =>
      store.steps.complete(pool, claim, async (transaction) => {
        const answer = await effect(transaction);
        if (isFirst) {
          isFirst = false;
          const { rows } = await transaction.query("select pg_backend_pid() as pid");
          await database.pool.query("select pg_terminate_backend($1)", [rows[0]?.pid]);
          await sleep(50);
        }
        return answer;
      });
    await using service = await Service.open(database.url, { steps: { ...store.steps, complete } });
    const key = randomUUID();
    expect(await service.send({ key, body: orderNamed(key) })).toMatchObject({ status: 500, isReplay: false });
    expect(await effectsOf(key)).toBe(0);
    expect(await service.send({ key, body: orderNamed(key) })).toMatchObject({ status: 201, isReplay: false });
    expect(await effectsOf(key)).toBe(1);
  });

  test("an error after the commit reopens nothing: a retry replays", async () => {
    const complete: Steps["complete"] = async (...given) => {
      await store.steps.complete(...given);
      throw new Error("the connection was lost before the commit was acknowledged");
    };
    await using service = await Service.open(database.url, { steps: { ...store.steps, complete } });
    const key = randomUUID();
    expect((await service.send({ key, body: orderNamed(key) })).status).toBe(500);
    expect(await recordsOf(key)).toMatchObject([{ state: "completed" }]);
    expect(await one.send({ key, body: orderNamed(key) })).toMatchObject({ status: 201, isReplay: true });
    expect(await effectsOf(key)).toBe(1);
  });

  leased(
    "a key that cannot be released is answered all the same, logged, and free when its lease is over",
    async () => {
      const fail = async () => {
        throw new Error("no database");
      };
      await using service = await Service.open(database.url, { steps: { ...store.steps, fail } });
      const logged = vi.spyOn(service.app.log, "error");
      const key = randomUUID();
      const failed = await service.send({ key, body: orderNamed(key), headers: { "lab-fail": "before-effect" } });
      expect(failed.status).toBe(503);
      expect(logged).toHaveBeenCalledWith(expect.objectContaining({ message: "no database" }), expect.any(String));
      expect((await one.send({ key, body: orderNamed(key) })).status).toBe(409);
      await expireLease(key);
      expect(await one.send({ key, body: orderNamed(key) })).toMatchObject({ status: 201, isReplay: false });
    },
  );

  test("two hundred requests at once on a pool of two are all answered", async () => {
    await using service = await Service.open(database.url, { poolSize: 2, steps: store.steps });
    const keys = times(100, () => randomUUID());
    const answers = await Promise.all([...keys, ...keys].map((key) => service.send({ key, body: orderNamed(key) })));
    expect(statusesOf(answers).filter((status) => status !== 201 && status !== 409)).toEqual([]);
    for (const key of keys) expect(await effectsOf(key)).toBe(1);
    expect(service.pool.waitingCount).toBe(0);
  });

  test("a client that hangs up in mid-handler has its effect once, and finds its answer later", async () => {
    const gate = new Gate();
    const disconnected = vi.fn<Steps["disconnected"]>(async () => {});
    await using service = await heldService(gate, disconnected);
    const url = new URL(await service.app.listen({ port: 0, host: "127.0.0.1" }));
    const key = randomUUID();
    const body = JSON.stringify(orderNamed(key));
    const headers = Object.entries({ ...headersOf(key), host: "a", "content-length": String(body.length) });
    const socket = connect(Number(url.port), url.hostname);
    socket.write(
      `POST /orders HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
    );
    await gate.reached;
    socket.destroy();
    await vi.waitFor(() => expect(disconnected).toHaveBeenCalledOnce(), PATIENCE);
    expect(disconnected).toHaveBeenCalledWith(service.pool, expect.objectContaining({ key }));
    expect((await one.send({ key, body: orderNamed(key) })).status).toBe(409);
    gate.open();
    await vi.waitFor(
      async () => expect((await one.send({ key, body: orderNamed(key) })).isReplay).toBe(true),
      PATIENCE,
    );
    expect(await effectsOf(key)).toBe(1);
  });

  test("a holder that stops in mid-transaction cannot hold up a takeover for longer than its lease", async () => {
    const gate = new Gate();
    // Stands still where a stopped process is worst: its record locked, nothing committed.
    const complete: Steps["complete"] = (pool, claim, effect) =>
      store.steps.complete(pool, claim, async (transaction) => {
        const answer = await effect(transaction);
        await transaction.query(`update ${store.table} set recovery_point = 'stopped' where key = $1`, [claim.key]);
        await gate.pass();
        return answer;
      });
    const steps = { ...store.steps, complete };
    await using stopped = await Service.open(database.url, { leaseMs: 200, gate, steps });
    const key = randomUUID();
    const late = stopped.send({ key, body: orderNamed(key) });
    await gate.reached;
    await vi.waitFor(async () => expect((await one.send({ key, body: orderNamed(key) })).status).toBe(201), PATIENCE);
    gate.open();
    expect(await late).toMatchObject({ status: 201, isReplay: true });
    expect(await effectsOf(key)).toBe(1);
  });
});

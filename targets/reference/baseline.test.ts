import { afterAll, beforeAll, expect, test } from "vitest";
import { Database } from "./testing/database.ts";
import { orderNamed, Service } from "./testing/service.ts";

let database: Database;
let service: Service;
beforeAll(async () => {
  database = await Database.start();
  service = await Service.open(database.url);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

test.each(["order", "refund"])(
  "the baseline of an %s has the same effect and answer, and no key record",
  async (kind) => {
    const body = orderNamed(`plain-${kind}`);
    const plain = await service.send({ key: null, path: `/baseline/${kind}s`, body });
    const keyed = await service.send({ key: `key-${kind}`, path: `/${kind}s`, body: orderNamed(`keyed-${kind}`) });
    const shapeOf = ({ body: text }: typeof plain) => Object.keys(JSON.parse(text) as object);
    expect(plain.status).toBe(keyed.status);
    expect(shapeOf(plain)).toEqual(shapeOf(keyed));
    const { rows } = await service.pool.query("select kind from ledger where reference = $1", [`plain-${kind}`]);
    expect(rows).toEqual([{ kind }]);
    const records = await service.pool.query("select key from idempotency_keys");
    expect(records.rows.map(({ key }) => key)).not.toContain(null);
    expect(records.rowCount).toBe(kind === "order" ? 1 : 2);
  },
);

test("the baseline executes each time, whatever key comes along", async () => {
  const twice = { key: "same", path: "/baseline/orders", body: orderNamed("twice") };
  await service.send(twice);
  await service.send(twice);
  const { rowCount } = await service.pool.query("select from ledger where reference = 'twice'");
  expect(rowCount).toBe(2);
});

test("the baseline asks who is calling, and is there for the lab only", async () => {
  const order = { key: null, path: "/baseline/orders", body: orderNamed("stranger") };
  expect((await service.send({ ...order, caller: "stranger" })).status).toBe(401);
  await using production = await Service.open(database.url, { lab: false });
  expect((await production.send(order)).status).toBe(404);
});

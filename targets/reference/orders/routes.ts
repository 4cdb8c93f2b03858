/** `POST /orders` and `POST /refunds`: local operations whose effect is one row of the ledger. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Pool, PoolClient } from "pg";
import type { Way } from "../idempotency/plugin.ts";
import type { StoredAnswer } from "../idempotency/record.ts";
import { type Order, orderOf } from "./order.ts";

export interface OrderOptions {
  readonly pool: Pool;
  /** How long a handler works before its effect, in milliseconds. */
  readonly workMs: (request: FastifyRequest) => number;
}

const LEDGER = `
  insert into ledger (kind, caller, reference, amount, currency, item)
  values ($1, $2, $3, $4, $5, $6)
  returning id`;

interface LocalOptions extends OrderOptions {
  readonly way: Way;
  /** What an answer says beside the order; mostly nothing. */
  readonly note: (request: FastifyRequest) => string;
}

export function registerOrders(app: FastifyInstance, { pool, workMs, way, note }: LocalOptions): void {
  for (const kind of ["order", "refund"] as const) {
    app.post(`/${kind}s`, { config: { idempotency: { fields: orderOf, way } } }, async (request) => {
      const { operation, caller } = request;
      if (operation === null) throw new Error("The key layer did not claim this request");
      const order = operation.fields as Order;
      await sleep(workMs(request));
      return operation.complete((transaction) => place(transaction, kind, caller, order, note(request)));
    });
  }

  app.get("/ledger", async () => {
    const columns = "id, kind, caller, reference, amount, currency, item";
    const { rows } = await pool.query(`select ${columns} from ledger order by id`);
    return { rows };
  });
}

export async function place(
  transaction: PoolClient,
  kind: string,
  caller: string,
  order: Order,
  note = "",
): Promise<StoredAnswer> {
  const { amount, currency, item, reference } = order;
  const { rows } = await transaction.query<{ id: string }>(LEDGER, [kind, caller, reference, amount, currency, item]);
  const id = rows[0]?.id ?? "";
  return {
    status: 201,
    headers: { "content-type": "application/json; charset=utf-8", location: `/${kind}s/${id}` },
    // The receipt makes two executions tell themselves apart even where their rows would not.
    body: JSON.stringify({
      ...{ id, kind, amount, currency, item, reference, receipt: randomUUID() },
      ...(note === "" ? {} : { note }),
    }),
  };
}

/**
 * The operations without the key layer: what `idemproof bench` compares with. Routes of their own in the same
 * process, and not a second service: keyed and unkeyed requests then share event loop, connection pool and
 * warmed-up code, and what disturbs one disturbs the other. The plugin passes over a route that does not opt in,
 * so that nothing of the key layer runs here. The effect is written in a transaction as it is there: an order is
 * one with or without keys, and that is no cost of the keys. Only with LAB=on.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Pool } from "pg";
import { book } from "./charges/charge.ts";
import { type EffectInTransaction, inTransaction } from "./idempotency/complete.ts";
import { Problem } from "./idempotency/problem.ts";
import type { Json } from "./json.ts";
import { type Order, orderOf } from "./orders/order.ts";
import { place } from "./orders/routes.ts";
import { callProcessor } from "./processor/call.ts";
import type { Processor } from "./processor/exchange.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** It asks who is calling, though it takes no keys. */
    isBaseline?: boolean;
  }
}

interface BaselineOptions {
  readonly pool: Pool;
  readonly workMs: (request: FastifyRequest) => number;
  /** Null: no charges. */
  readonly processor: Processor | null;
}

export function registerBaseline(app: FastifyInstance, { pool, workMs, processor }: BaselineOptions): void {
  const route = (path: string, effectOf: (order: Order, caller: string) => Promise<EffectInTransaction>): void => {
    app.post(`/baseline${path}`, { config: { isBaseline: true } }, async (request, reply) => {
      const order = orderOf(request.body as Json);
      await sleep(workMs(request));
      const answer = await inTransaction(pool, await effectOf(order, request.caller));
      return reply.code(answer.status).headers(answer.headers).send(answer.body);
    });
  };

  for (const kind of ["order", "refund"] as const) {
    route(`/${kind}s`, async (order, caller) => (transaction) => place(transaction, kind, caller, order));
  }
  if (processor === null) return;
  route("/charges", async (order, caller) => {
    const call = await callProcessor(processor, randomUUID(), order);
    if (call.kind !== "decided") throw new Problem(503, "outcome-open", "The processor gave no decision");
    return (transaction) => book(transaction, { caller, fields: order }, call.outcome);
  });
}

/** `POST /charges`: a downstream operation. `GET /reconciliation`: the keys of charges whose outcome is open. */
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { heldKeys } from "../idempotency/held.ts";
import { type Order, orderOf } from "../orders/order.ts";
import type { OrderOptions } from "../orders/routes.ts";
import { book } from "./charge.ts";

/** Part of the key that the processor gets; a change would charge twice what is open at the time. */
const STEP = "charge";

export interface ChargeOptions extends OrderOptions {
  /** After so many looks of the reconciler a key is for people to look at. */
  readonly reconcileTries: number;
}

export function registerCharges(app: FastifyInstance, { pool, workMs, reconcileTries }: ChargeOptions): void {
  app.post("/charges", { config: { idempotency: { fields: orderOf } } }, async (request) => {
    const { operation, caller } = request;
    if (operation === null) throw new Error("The key layer did not claim this request");
    const fields = operation.fields as Order;
    await sleep(workMs(request));
    return operation.carryOut({ step: STEP, fields }, (transaction, outcome) =>
      book(transaction, { caller, fields }, outcome),
    );
  });

  // For operators, like the ledger; a real service would not show either to its callers.
  app.get("/reconciliation", async () => ({ keys: await heldKeys(pool, reconcileTries) }));
}

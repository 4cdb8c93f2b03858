/**
 * What a charge leaves once the processor has decided: for one that succeeded a row of the ledger and a
 * receipt, for one that was declined nothing. The request handler and the reconciler both end here, so that a
 * retry gets the same answer whoever finished its operation.
 */
import type { PoolClient } from "pg";
import { PROBLEM_TYPE, problemBody } from "../idempotency/problem.ts";
import type { Intent, Outcome, StoredAnswer } from "../idempotency/record.ts";
import type { Order } from "../orders/order.ts";

const LEDGER = `
  insert into ledger (kind, caller, reference, amount, currency, item, charge)
  values ('charge', $1, $2, $3, $4, $5, $6)
  returning id`;

const RECEIPT = "insert into receipts (ledger_id, charge) values ($1, $2) returning id";

export async function book(
  transaction: PoolClient,
  { caller, fields }: Pick<Intent, "caller" | "fields">,
  { charge, status }: Outcome,
): Promise<StoredAnswer> {
  if (status === "declined") return declined();
  const { amount, currency, item, reference } = fields as Order;
  const values = [caller, reference, amount, currency, item, charge];
  const { rows: entries } = await transaction.query<{ id: string }>(LEDGER, values);
  const id = entries[0]?.id ?? "";
  const { rows: receipts } = await transaction.query<{ id: string }>(RECEIPT, [id, charge]);
  const receipt = receipts[0]?.id ?? "";
  return {
    status: 201,
    headers: { "content-type": "application/json; charset=utf-8", location: `/charges/${id}` },
    body: JSON.stringify({ id, kind: "charge", amount, currency, item, reference, charge, receipt }),
  };
}

function declined(): StoredAnswer {
  const message = "The processor declined the charge";
  return {
    status: 402,
    headers: { "content-type": PROBLEM_TYPE },
    body: problemBody({ statusCode: 402, slug: "charge-declined", message }),
  };
}

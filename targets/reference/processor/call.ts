/** The call that charges. Its body is the same text for every attempt, as the processor compares it. */

import type { Outcome } from "../idempotency/record.ts";
import type { JsonObject } from "../json.ts";
import { type Answered, exchange, type Processor, Unanswered } from "./exchange.ts";
import { outcomeOf } from "./outcome.ts";

export type CallResult =
  | { readonly kind: "decided"; readonly outcome: Outcome }
  /** Proved: there was no connection. */
  | { readonly kind: "not-sent"; readonly reason: string }
  /** It may have charged, or may still do so. */
  | { readonly kind: "unknown"; readonly reason: string };

const STATUS_OF = { succeeded: 201, declined: 402 } as const;

export async function callProcessor(processor: Processor, key: string, fields: JsonObject): Promise<CallResult> {
  const { amount = null, currency = null, reference = null } = fields;
  try {
    const answered = await exchange(processor, {
      method: "POST",
      path: "/charges",
      headers: { "content-type": "application/json", "idempotency-key": key },
      // Digits as text: no float on the way, on neither side.
      body: JSON.stringify({ amount, currency, reference }),
    });
    return resultOf(answered);
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    return { kind: error.mayHaveArrived ? "unknown" : "not-sent", reason: error.message };
  }
}

/** A 5xx says nothing of what was charged before it; nor does any other answer that is not a decision. */
function resultOf(answered: Answered): CallResult {
  const outcome = outcomeOf(answered);
  if (outcome !== null && answered.status === STATUS_OF[outcome.status]) return { kind: "decided", outcome };
  return { kind: "unknown", reason: `the processor answered ${answered.status}` };
}

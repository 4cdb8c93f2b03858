/** The status query: what became of the call with this key. */
import type { Outcome } from "../idempotency/record.ts";
import { exchange, type Processor, Unanswered } from "./exchange.ts";
import { outcomeOf } from "./outcome.ts";

export type AskResult =
  | { readonly kind: "found"; readonly outcome: Outcome }
  | { readonly kind: "not-found" }
  | { readonly kind: "unknown"; readonly reason: string };

export async function askProcessor(processor: Processor, key: string): Promise<AskResult> {
  try {
    const path = `/charges?key=${encodeURIComponent(key)}`;
    const answered = await exchange(processor, { method: "GET", path });
    const outcome = answered.status === 200 ? outcomeOf(answered) : null;
    if (outcome !== null) return { kind: "found", outcome };
    if (answered.status === 404) return { kind: "not-found" };
    return { kind: "unknown", reason: `the processor answered ${answered.status}` };
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    return { kind: "unknown", reason: error.message };
  }
}

/**
 * Defect: where the processor knows nothing of a charge, or does not say, the reconciler takes it for carried
 * out. The order is booked and every retry gets a success, and nobody has paid.
 *
 * In the wild: jobs that close what has been pending for too long, one way or the other. "Timed out calls have
 * mostly gone through" is as common as "what is still pending has failed".
 *
 * Why it looks right: it empties the list of open keys, and it is mostly right.
 */
import { type AskResult, askProcessor } from "../../reference/processor/ask.ts";
import type { Processor } from "../../reference/processor/exchange.ts";
import { keepReconciling } from "../../reference/reconciling.ts";

async function askOrGuess(processor: Processor, key: string): Promise<AskResult> {
  const result = await askProcessor(processor, key);
  if (result.kind === "found") return result;
  return { kind: "found", outcome: { charge: `presumed-${key.slice(0, 8)}`, status: "succeeded" } };
}

await keepReconciling({ ask: askOrGuess });

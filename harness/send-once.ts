/** One plain exchange, for questions beside the scenarios: is it ready, does it answer, what do its books hold. */
import { openExchange } from "./burst/exchange.ts";
import type { HttpRequest, Outcome } from "./operation.ts";

export interface SendOptions {
  /** From the release to the end of the answer. */
  readonly timeoutMs: number;
  /** As much of the answer as is read; default: what the history records. */
  readonly bytesMax?: number;
  readonly signal: AbortSignal;
}

/** Rejects only when the signal is aborted, and then at once. */
export async function sendOnce(base: URL, request: HttpRequest, options: SendOptions): Promise<Outcome> {
  const { signal, timeoutMs, bytesMax } = options;
  signal.throwIfAborted();
  const exchange = openExchange(base, request, {
    gate: "none",
    timeoutMs,
    ...(bytesMax === undefined ? {} : { bytesMax }),
  });
  signal.addEventListener("abort", exchange.abort, { once: true });
  try {
    await exchange.armed;
    exchange.release();
    const outcome = await exchange.outcome;
    signal.throwIfAborted();
    return outcome;
  } finally {
    signal.removeEventListener("abort", exchange.abort);
  }
}

/** An outcome without an answer as the end of "got …". */
export function lossInWords(outcome: Exclude<Outcome, { kind: "responded" }>, timeoutMs: number): string {
  if (outcome.kind === "refused") return `no connection (${outcome.reason})`;
  switch (outcome.reason) {
    case "timeout":
      return `no answer within ${timeoutMs} ms`;
    case "reset":
      return "a connection that was reset before the answer";
    case "closed":
      return "a connection that was closed before the answer";
    case "truncated":
      return "an answer that broke off";
    case "malformed":
      return `something that is no HTTP answer${outcome.detail === undefined ? "" : ` (${outcome.detail})`}`;
    case "oversized":
      return "an answer too large to be read to its end";
    case "aborted":
    case "open":
      return "no answer";
  }
}

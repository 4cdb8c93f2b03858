/** The processor's final word on a charge, read from its answer. */
import type { Outcome } from "../idempotency/record.ts";
import type { Answered } from "./exchange.ts";

/** Null for anything that is not plainly a charge: what cannot be read decides nothing. */
export function outcomeOf({ body }: Answered): Outcome | null {
  const { id, status } = body ?? {};
  if (typeof id !== "string" || id === "") return null;
  return status === "succeeded" || status === "declined" ? { charge: id, status } : null;
}

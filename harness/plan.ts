/** The few pieces that plans are put together from. */
import type { Gate } from "./event.ts";
import type { AttemptPlan, Endpoint, PlanContext, Step } from "./scenario.ts";

/** In a key: a text that is unique to the run and the scenario, of `naming.ts`'s twelve characters. */
export const UNIQUE = "${unique}";

/** The ordinary key of an operation, for another one to use. */
export function keyOf(operation: string): string {
  return `\${uuid:${operation}}`;
}

/** `make(1) … make(count)` */
export function times<Value>(count: number, make: (number: number) => Value): readonly Value[] {
  return Array.from({ length: count }, (_, index) => make(index + 1));
}

/** The same attempt so many times. */
export function copies(count: number, attempt: AttemptPlan): readonly AttemptPlan[] {
  return Array.from({ length: count }, () => attempt);
}

/** Gates take turns, so that every one of them is raced. */
export function gateOf({ gates }: PlanContext, round: number): Gate {
  return gates[round % gates.length] ?? gates[0];
}

/**
 * Many races at once: so many keys, each sent as often as the largest burst allows. For handlers that are
 * slow, where one key at a time would take the whole run.
 */
export function burstOfKeys(
  context: PlanContext,
  round: number,
  keys: number,
  attempts: (name: string) => readonly AttemptPlan[],
): Step {
  const names = times(keys, (number) => `r${round}-k${number}`);
  return { do: "burst", gate: gateOf(context, round), attempts: names.flatMap(attempts) };
}

/** The first endpoint whose handler can be asked to take its time. */
export function slowEndpoint({ endpoints }: PlanContext): (Endpoint & { readonly slowMs: number }) | null {
  const found = endpoints.find(({ slowMs }) => slowMs !== null);
  return found === undefined || found.slowMs === null ? null : { ...found, slowMs: found.slowMs };
}

export const NO_SLOW = {
  skip: "the target file names no way to make a handler slow (operations.<name>.slow)",
} as const;

/** The few pieces that plans are put together from. */
import type { Gate } from "./event.ts";
import type { FaultStep } from "./fault.ts";
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

/** As many samples as a quick run takes. */
const QUICK_SAMPLES = 2;

export function isQuick({ samples }: PlanContext): boolean {
  return samples <= QUICK_SAMPLES;
}

/** A longer lease is not waited for. */
const LEASE_MS_MAX = 10_000;

/** The lease, where a run can wait until it is over. */
export function waitableLeaseMs({ contract: { leaseMs } }: PlanContext): number | { readonly skip: string } {
  if (leaseMs === "undocumented") return { skip: "the contract leaves the lease undocumented" };
  if (leaseMs <= LEASE_MS_MAX) return leaseMs;
  return {
    skip: `the lease is ${leaseMs} ms and is not waited for; give the target one of ${LEASE_MS_MAX} ms or less`,
  };
}

export const NO_SECOND_REPLICA = { skip: "a takeover needs a second replica (start.replicas)" } as const;

/** Every place of an operation at one of the phases; one of the endpoints that pass the same phases stands for the others. */
export function placesAt({ endpoints }: PlanContext, phases: readonly string[]): readonly Place[] {
  return phases.flatMap((phase) => {
    const byPhases = new Map<string, Place>();
    for (const endpoint of endpoints) {
      const all = endpoint.phases.join(" ");
      if (endpoint.phases.includes(phase) && !byPhases.has(all)) byPhases.set(all, { endpoint, phase });
    }
    return [...byPhases.values()];
  });
}

export interface Place {
  readonly endpoint: Endpoint;
  readonly phase: string;
}

/** The steps with all these faults at work or armed, the first one outermost. */
export function underAll(faults: readonly FaultStep[], steps: readonly Step[]): readonly Step[] {
  return faults.reduceRight<readonly Step[]>((inner, fault) => [{ do: "during", fault, steps: inner }], steps);
}

/** So that a fault that comes a moment later finds its attempts at work, and not a cold process still getting ready. */
export function warmUp({ callers, replicas }: PlanContext, endpoint: string): Step {
  const attempts = times(replicas * WARM_ATTEMPTS, (number) => ({
    operation: `warm-up-${number}`,
    endpoint,
    caller: callers[0],
    replica: number % replicas,
  }));
  return { do: "send", attempts };
}

const WARM_ATTEMPTS = 3;

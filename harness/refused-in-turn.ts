/**
 * An operation for each write and each commit that a first use makes: the database refuses the first one of the
 * first operation, the second one of the second, and so on until an operation has none left. No target has to say
 * where its transactions begin and end, and a record that is stored outside of the effect's is found.
 */
import { times } from "./plan.ts";
import type { AttemptPlan, Endpoint, PlanContext, Step } from "./scenario.ts";

/** More than a first use makes; each row that is written counts. */
const MOMENTS_MAX = 24;

export interface RefusedInTurn {
  /** More than are played: whatever comes afterwards is for those that were begun. */
  readonly attempts: readonly AttemptPlan[];
  readonly step: Step;
}

export function refusedInTurn({ callers }: PlanContext, endpoint: Endpoint, word = "refused"): RefusedInTurn {
  const attempts = times(MOMENTS_MAX, (moment) => ({
    operation: `${endpoint.name}: ${word} at moment ${moment}`,
    endpoint: endpoint.name,
    caller: callers[0],
  }));
  const strikes = attempts.map((plan, index) => ({
    do: "during" as const,
    fault: { fault: "write-refused" as const, moment: index + 1 },
    steps: [{ do: "send" as const, attempts: [plan] }],
  }));
  return { attempts, step: { do: "while-struck", strikes } };
}

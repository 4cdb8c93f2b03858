/** A client that lost patience and retries while its first request is at work, then does as it is told. */
import { NO_SLOW, slowEndpoint, times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "retry-while-in-flight",
  title: "Retry while in flight",
  requirement: "A client that obeys Retry-After gets the answer of its first request",
  exercises: ["every-key-resolves", "conflict-only-while-in-flight", "replay-is-identical"],
  beside: true,

  plan(context) {
    const endpoint = slowEndpoint(context);
    if (endpoint === null) return NO_SLOW;
    const attempts = times(
      context.samples * 2,
      (sample): AttemptPlan => ({
        operation: `s${sample}`,
        endpoint: endpoint.name,
        caller: context.callers[0],
        condition: "slow",
      }),
    );
    return [
      { do: "start", attempts },
      { do: "wait", ms: Math.ceil(endpoint.slowMs / 4) },
      { do: "persist", attempts },
      { do: "join" },
      { do: "send", attempts },
      { do: "observe" },
    ];
  },
};

export default scenario;

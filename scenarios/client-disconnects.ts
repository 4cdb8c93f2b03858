/** The client hangs up in mid-handler and comes back later, as one behind a timeout does. */
import { gateOf, NO_SLOW, slowEndpoint, times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "client-disconnects",
  title: "Client disconnects in mid-handler",
  requirement: "A request whose client hung up takes effect at most once, and the client's retry gets its answer",
  exercises: ["at-most-one-effect", "acknowledged-effect-exists", "every-key-resolves"],
  beside: true,

  plan(context) {
    const endpoint = slowEndpoint(context);
    if (endpoint === null) return NO_SLOW;
    const plain = times(
      context.samples * 4,
      (sample): AttemptPlan => ({ operation: `s${sample}`, endpoint: endpoint.name, caller: context.callers[0] }),
    );
    const aborted = plain.map(
      (plan, index): AttemptPlan => ({
        ...plan,
        condition: "slow",
        // From the first moments to shortly before the answer.
        abortAfterMs: Math.ceil((endpoint.slowMs * (1 + (index % 4))) / 5),
      }),
    );
    return [
      { do: "burst", gate: gateOf(context, 0), attempts: aborted },
      { do: "persist", attempts: plain },
      { do: "wait", ms: endpoint.slowMs },
      { do: "send", attempts: plain },
      { do: "observe" },
    ];
  },
};

export default scenario;

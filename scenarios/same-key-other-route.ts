/** One key for two different operations of the same API. */
import { keyOf, times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "same-key-other-route",
  title: "Same key, other route",
  requirement: "A key used on one route never gets the answer of another",
  exercises: ["scopes-are-isolated"],

  plan({ samples, endpoints, callers }) {
    const [one, other] = endpoints;
    if (other === undefined) return { skip: "the target file names only one operation" };
    return times(samples, (sample) => {
      const first: AttemptPlan = { operation: `s${sample}`, endpoint: one.name, caller: callers[0] };
      const second: AttemptPlan = {
        operation: `s${sample}-other`,
        reference: `s${sample}`,
        key: keyOf(`s${sample}`),
        endpoint: other.name,
        caller: callers[0],
      };
      return { do: "send" as const, attempts: [first, second, first, second] };
    });
  },
};

export default scenario;

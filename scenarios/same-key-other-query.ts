/** One key on the same route with a query that makes it another request. */
import { keyOf, times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "same-key-other-query",
  title: "Same key, other query",
  requirement: "A query that decides the outcome is part of the request, and never gets the answer without it",
  exercises: ["scopes-are-isolated"],

  plan({ samples, endpoints, callers }) {
    const endpoint = endpoints.find(({ query }) => query !== null);
    if (endpoint === undefined) {
      return { skip: "the target file names no query that makes it another request (operations.<name>.query)" };
    }
    return times(samples, (sample) => {
      const first: AttemptPlan = { operation: `s${sample}`, endpoint: endpoint.name, caller: callers[0] };
      const second: AttemptPlan = {
        ...first,
        operation: `s${sample}-query`,
        reference: `s${sample}`,
        key: keyOf(`s${sample}`),
        withQuery: true,
      };
      return { do: "send" as const, attempts: [first, second, first, second] };
    });
  },
};

export default scenario;

/** The same request written in other ways, as another version of the client's library would write it. */
import { times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "equal-spellings",
  title: "Equal spellings",
  requirement: "Reordered, re-spaced and equal values written differently are the same request",
  exercises: ["equal-requests-replay", "at-most-one-effect"],

  plan({ samples, endpoints, callers }) {
    const spelled = endpoints.filter(({ spellings }) => spellings.length > 0);
    if (spelled.length === 0) return { skip: "the target has no spellings of a request that mean the same" };
    return spelled.flatMap(({ name: endpoint, spellings }) =>
      times(samples, (sample) => {
        const first: AttemptPlan = { operation: `${endpoint}-${sample}`, endpoint, caller: callers[0] };
        const again = spellings.map((name): AttemptPlan => ({ ...first, payload: { kind: "spelling", name } }));
        return { do: "send" as const, attempts: [first, ...again, first] };
      }),
    );
  },
};

export default scenario;

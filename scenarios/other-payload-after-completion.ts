/** The key of a finished operation under another payload: a programming error that must not become a wrong answer. */
import { keyOf, times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "other-payload-after-completion",
  title: "Other payload after completion",
  requirement: "Another payload under a used key is refused, has no effect, and the first answer stays",
  exercises: ["no-replay-across-mismatch", "no-effect-without-acceptance", "original-survives-rejection"],

  plan({ samples, endpoints, callers }) {
    const endpoint = endpoints.find(({ fields }) => fields.length > 0);
    if (endpoint === undefined) return { skip: "the target file names no outcome fields that could be changed" };
    return times(samples, (sample) => {
      const first: AttemptPlan = { operation: `s${sample}`, endpoint: endpoint.name, caller: callers[0] };
      const other: AttemptPlan = {
        ...first,
        operation: `s${sample}-other`,
        key: keyOf(`s${sample}`),
        payload: { kind: "other" },
      };
      return { do: "send" as const, attempts: [first, other, other, first, first] };
    });
  },
};

export default scenario;

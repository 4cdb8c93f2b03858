/** Something fails at the end of the transaction, and a client that has its success does not come back to check. */
import { times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario, Step } from "../harness/scenario.ts";

const PHASE = "before-commit";

const scenario: Scenario = {
  id: "acknowledged-once",
  title: "Failure before the commit, one success",
  requirement: "An operation whose client stopped at the first success took effect, and its record says so",
  exercises: ["acknowledged-effect-exists", "atomic-record-and-effect"],
  beside: true,

  plan({ callers, endpoints, samples }) {
    const able = endpoints.filter(({ phases }) => phases.includes(PHASE));
    if (able.length === 0) {
      return { skip: `no operation has a failpoint ${PHASE} (operations.<name>.failpoints in the target file)` };
    }
    const plain = able.flatMap(({ name }) =>
      times(samples, (sample): AttemptPlan => ({ operation: `${name}-${sample}`, endpoint: name, caller: callers[0] })),
    );
    return [
      ...plain.reduceRight<readonly Step[]>(
        (steps, { operation }) => [
          { do: "during", fault: { fault: "throw", at: { operation, phase: PHASE, pass: 1 } }, steps },
        ],
        [{ do: "persist", attempts: plain }],
      ),
      { do: "observe" },
    ];
  },
};

export default scenario;

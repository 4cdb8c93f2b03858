/**
 * Something fails at the end of the transaction. One client that has its success does not come back to check,
 * another one asks again.
 */
import { times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario, Step } from "../harness/scenario.ts";

const PHASE = "before-commit";

const scenario: Scenario = {
  id: "acknowledged-once",
  title: "Success before a failing commit",
  requirement: "A success is answered when it is committed: it took effect, its record says so, and whoever asks again gets it",
  exercises: ["acknowledged-effect-exists", "atomic-record-and-effect", "replay-is-identical"],
  faulty: true,

  plan({ callers, endpoints, samples }) {
    const able = endpoints.filter(({ phases }) => phases.includes(PHASE));
    if (able.length === 0) {
      return { skip: `no operation has a failpoint ${PHASE} (operations.<name>.failpoints in the target file)` };
    }
    const named = (word: string): readonly AttemptPlan[] =>
      able.flatMap(({ name }) =>
        times(samples, (sample) => ({ operation: `${name}-${word}-${sample}`, endpoint: name, caller: callers[0] })),
      );
    const again = named("again");
    return [
      ...able.flatMap(({ name }) => struckOnce([...named("once"), ...again].filter(({ endpoint }) => endpoint === name))),
      { do: "persist", attempts: again },
      { do: "send", attempts: again },
    ];
  },
};

/** The books are read as soon as all have their answer: later, the next holder of a lease could be at work. */
function struckOnce(plain: readonly AttemptPlan[]): readonly Step[] {
  return [
    ...plain.reduceRight<readonly Step[]>(
      (steps, { operation }) => [
        { do: "during", fault: { fault: "throw", at: { operation, phase: PHASE, pass: 1 } }, steps },
      ],
      [{ do: "persist", attempts: plain }],
    ),
    { do: "observe" },
  ];
}

export default scenario;

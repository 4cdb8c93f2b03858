/**
 * Something fails at the end of the transaction. One client that has its success does not come back to check,
 * another one asks again.
 */
import type { FaultStep } from "../harness/fault.ts";
import { times, underAll } from "../harness/plan.ts";
import type { AttemptPlan, Scenario, Step } from "../harness/scenario.ts";

const PHASE = "before-commit";
/** Each is one client that comes back, or does not. */
const SAMPLES_MAX = 2;

const scenario: Scenario = {
  id: "acknowledged-once",
  title: "Success before a failing commit",
  requirement:
    "A success is answered when it is committed: it took effect, its record says so, and whoever asks again gets it",
  exercises: ["acknowledged-effect-exists", "atomic-record-and-effect", "replay-is-identical"],
  faulty: true,
  inTurn: true,

  plan({ callers, endpoints, samples }) {
    const able = endpoints.filter(({ phases }) => phases.includes(PHASE));
    const local = able.find(({ isDownstream }) => !isDownstream);
    const downstream = able.find(({ isDownstream }) => isDownstream);
    if (able.length === 0) {
      return { skip: `no operation has a failpoint ${PHASE} (operations.<name>.failpoints in the target file)` };
    }
    const named = (endpoint: typeof local, word: string): readonly AttemptPlan[] =>
      endpoint === undefined
        ? []
        : times(Math.min(samples, SAMPLES_MAX), (sample) => ({
            operation: `${endpoint.name}-${word}-${sample}`,
            endpoint: endpoint.name,
            caller: callers[0],
          }));
    return [
      ...named(local, "once").flatMap((one) => struckAndRead([one])),
      ...[local, downstream].flatMap((endpoint) => {
        const again = named(endpoint, "again");
        return [...struckAndRead(again), { do: "persist", attempts: again }, { do: "send", attempts: again }] as const;
      }),
      ...struckAndRead(named(downstream, "once")),
    ];
  },
};

/** The books are read at once: when a lease has passed since, whoever took over could be at work. */
function struckAndRead(plain: readonly AttemptPlan[]): readonly Step[] {
  return [
    ...underAll(
      plain.map(({ operation }): FaultStep => ({ fault: "throw", at: { operation, phase: PHASE, pass: 1 } })),
      [{ do: "persist", attempts: plain }],
    ),
    { do: "observe" },
  ];
}

export default scenario;

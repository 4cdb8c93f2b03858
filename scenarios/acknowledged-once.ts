/**
 * Something fails at the end of the transaction. One client that has its success does not come back to check,
 * another one asks again. Of an operation without a failpoint there, the database refuses each write and each commit
 * in turn, of which one is the end of the transaction.
 */
import type { FaultStep } from "../harness/fault.ts";
import { times, underAll, waitableLeaseMs } from "../harness/plan.ts";
import { type RefusedInTurn, refusedInTurn } from "../harness/refused-in-turn.ts";
import type { AttemptPlan, Endpoint, PlanContext, Scenario, Step } from "../harness/scenario.ts";

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

  plan(context) {
    const { callers, endpoints, samples } = context;
    const able = endpoints.filter(({ phases }) => phases.includes(PHASE));
    const local = able.find(({ isDownstream }) => !isDownstream);
    const downstream = able.find(({ isDownstream }) => isDownstream);
    const others = endpoints.filter((endpoint) => !able.includes(endpoint));
    const refused = refusedOf(context, others);
    if (able.length === 0 && "skip" in refused) return refused;
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
      ...("skip" in refused ? [] : refused),
    ];
  },
};

/** Who has a success has no reason to ask again, and does not; of the first operation's clients others do. */
function refusedOf(context: PlanContext, endpoints: readonly Endpoint[]): readonly Step[] | { readonly skip: string } {
  const { contract, hasDatabase } = context;
  if (!hasDatabase) {
    const phase = `no operation has a failpoint ${PHASE} (operations.<name>.failpoints in the target file)`;
    return { skip: `${phase}, and the target does not use the lab's database (\${postgres})` };
  }
  const leaseMs = waitableLeaseMs(context);
  if (contract.leaseMs !== "undocumented" && typeof leaseMs !== "number") return leaseMs;
  const again = endpoints.slice(0, 1).map((endpoint) => refusedInTurn(context, endpoint, "again"));
  return [
    ...endpoints.flatMap((endpoint) => untilAnswered(refusedInTurn(context, endpoint, "once"))),
    ...again.flatMap((one): readonly Step[] => [
      ...untilAnswered(one),
      { do: "send", attempts: one.attempts, only: "begun" },
    ]),
  ];
}

function untilAnswered({ attempts, step }: RefusedInTurn): readonly Step[] {
  return [step, { do: "observe" }, { do: "persist", attempts, only: "unanswered" }, { do: "observe" }];
}

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

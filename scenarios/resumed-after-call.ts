/**
 * The processor was called, nobody wrote down what it said, and it is the client's own retry that resumes the
 * operation: the target's reconciler, if it has one, is kept at another key for as long as that takes.
 */
import type { FaultStep } from "../harness/fault.ts";
import { times, underAll, waitableLeaseMs } from "../harness/plan.ts";
import type { AttemptPlan, PlanContext, Scenario, Step } from "../harness/scenario.ts";

const PHASE = "downstream-called";
const RECONCILING = "reconciling";
/** Long enough for the attempt to reach the failpoint at which it then stays. */
const HOLDER_MS = 400;
/** After a lease a reconciler comes by within this time. */
const RECONCILER_MS = 600;
/** Leases for which it is then kept: the retries wait for one, and take their time. */
const LEASES_KEPT = 4;
const AFTERMATH_MS = 400;

const scenario: Scenario = {
  id: "resumed-after-call",
  title: "Resumed after the downstream call",
  requirement: "Whoever resumes an operation asks what became of its downstream call, and charges nobody twice",
  exercises: ["one-downstream-operation", "no-blind-reexecution", "at-most-one-effect", "every-key-resolves"],
  faulty: true,
  inTurn: true,

  plan(context) {
    const endpoint = context.endpoints.find(({ phases }) => phases.includes(PHASE));
    if (endpoint === undefined) {
      return { skip: `no operation has a failpoint ${PHASE} (operations.<name>.failpoints in the target file)` };
    }
    const leaseMs = waitableLeaseMs(context);
    if (typeof leaseMs !== "number") return leaseMs;
    const named = (operation: string): AttemptPlan => ({
      operation,
      endpoint: endpoint.name,
      caller: context.callers[0],
    });
    const plain = times(context.samples * 2, (sample) => named(`s${sample}`));
    const resumed = interrupted(plain, [{ do: "persist", attempts: plain }]);
    return [
      ...(endpoint.phases.includes(RECONCILING) ? besideTheReconciler(named("reconciler"), leaseMs, resumed) : resumed),
      { do: "wait", ms: AFTERMATH_MS },
      { do: "send", attempts: plain },
      { do: "observe" },
    ];
  },
};

/** Each operation's first attempt fails when the processor has answered. */
function interrupted(plain: readonly AttemptPlan[], steps: readonly Step[]): readonly Step[] {
  return underAll(
    plain.map(({ operation }): FaultStep => ({ fault: "throw", at: { operation, phase: PHASE, pass: 1 } })),
    steps,
  );
}

function besideTheReconciler(
  kept: AttemptPlan,
  leaseMs: Exclude<PlanContext["contract"]["leaseMs"], "undocumented">,
  steps: readonly Step[],
): readonly Step[] {
  const { operation } = kept;
  return [
    {
      do: "during",
      fault: { fault: "delay", ms: leaseMs * LEASES_KEPT, at: { operation, phase: RECONCILING, pass: 1 } },
      steps: [
        {
          do: "during",
          fault: { fault: "hang", at: { operation, phase: PHASE, pass: 1 } },
          steps: [
            { do: "send", attempts: [{ ...kept, abortAfterMs: HOLDER_MS }] },
            { do: "wait", ms: leaseMs + RECONCILER_MS },
          ],
        },
        ...steps,
      ],
    },
    { do: "persist", attempts: [kept] },
  ];
}

export default scenario;

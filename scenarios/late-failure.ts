/** A holder outlives its lease, another attempt finishes its operation, and only then the old holder fails. */
import type { FaultStep } from "../harness/fault.ts";
import { NO_SECOND_REPLICA, times, underAll, waitableLeaseMs } from "../harness/plan.ts";
import type { AttemptPlan, Scenario, Step } from "../harness/scenario.ts";

const PHASE = "claimed";
const HOLDER_REPLICA = 0;
const OTHER_REPLICA = 1;
/** The lease is certainly over. */
const TAKEOVER_MS = 100;
/** How much longer than the lease the holder is kept, so that who took over has finished before it fails. */
const BEYOND_LEASE_MS = 1_000;

const scenario: Scenario = {
  id: "late-failure",
  title: "A holder fails after its lease",
  requirement: "A holder that lost its lease and then fails leaves the key, and its answer, to whoever took over",
  exercises: ["at-most-one-effect", "replay-is-identical", "once-completed-always-completed"],
  faulty: true,
  inTurn: true,

  plan(context) {
    const { callers, endpoints, replicas, samples } = context;
    const endpoint = endpoints.find(({ phases, canFail }) => canFail && phases.includes(PHASE));
    if (endpoint === undefined) {
      return { skip: `no operation can fail (operations.<name>.fails) and has a failpoint ${PHASE} (failpoints)` };
    }
    if (replicas < 2) return NO_SECOND_REPLICA;
    const leaseMs = waitableLeaseMs(context);
    if (typeof leaseMs !== "number") return leaseMs;
    const plain = times(
      samples,
      (sample): AttemptPlan => ({ operation: `s${sample}`, endpoint: endpoint.name, caller: callers[0] }),
    );
    const steps: readonly Step[] = [
      { do: "start", attempts: plain.map((plan) => ({ ...plan, replica: HOLDER_REPLICA, condition: "fails" })) },
      { do: "wait", ms: leaseMs + TAKEOVER_MS },
      { do: "persist", attempts: plain.map((plan) => ({ ...plan, replica: OTHER_REPLICA })) },
      { do: "join" },
    ];
    return [
      ...underAll(
        plain.map(
          ({ operation }): FaultStep => ({
            fault: "delay",
            ms: leaseMs + BEYOND_LEASE_MS,
            at: { operation, phase: PHASE, pass: 1 },
          }),
        ),
        steps,
      ),
      { do: "persist", attempts: plain },
      { do: "send", attempts: plain },
      { do: "observe" },
    ];
  },
};

export default scenario;

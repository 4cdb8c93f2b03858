/** A holder outlives its lease, another attempt finishes its operation, and only then the old holder fails. */
import { times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario, Step } from "../harness/scenario.ts";

const PHASE = "claimed";
const LEASE_MS_MAX = 10_000;
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

  plan({ callers, contract: { leaseMs }, endpoints, replicas, samples }) {
    const endpoint = endpoints.find(({ phases, canFail }) => canFail && phases.includes(PHASE));
    if (endpoint === undefined) {
      return { skip: `no operation can fail (operations.<name>.fails) and has a failpoint ${PHASE} (failpoints)` };
    }
    if (replicas < 2) return { skip: "a takeover needs a second replica (start.replicas)" };
    if (leaseMs === "undocumented") return { skip: "the contract leaves the lease undocumented" };
    if (leaseMs > LEASE_MS_MAX) return { skip: `a lease of more than ${LEASE_MS_MAX} ms is not waited for` };
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
      ...plain.reduceRight<readonly Step[]>(
        (inner, { operation }) => [
          {
            do: "during",
            fault: { fault: "delay", ms: leaseMs + BEYOND_LEASE_MS, at: { operation, phase: PHASE, pass: 1 } },
            steps: inner,
          },
        ],
        steps,
      ),
      { do: "persist", attempts: plain },
      { do: "send", attempts: plain },
      { do: "observe" },
    ];
  },
};

export default scenario;

/** The processor declines, and the client asks again. */
import type { FaultStep } from "../harness/fault.ts";
import { times, underAll } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

const REPLICA = 0;

const scenario: Scenario = {
  id: "declined-charge",
  title: "Declined charge",
  requirement: "A decline is the operation's answer: every retry gets it again, and nothing is tried anew",
  exercises: ["error-policy-is-kept", "one-downstream-operation", "no-blind-reexecution"],
  faulty: true,
  inTurn: true,

  plan({ callers, endpoints, hasProcessor, samples }) {
    const endpoint = endpoints.find(({ isDownstream }) => isDownstream);
    if (endpoint === undefined) return { skip: "no operation calls a processor (operations.<name>.downstream)" };
    if (!hasProcessor) return { skip: "the target does not use the lab's processor (${processor})" };
    const plain = times(
      samples,
      (sample): AttemptPlan => ({ operation: `s${sample}`, endpoint: endpoint.name, caller: callers[0] }),
    );
    const first = plain.map((plan) => ({ ...plan, replica: REPLICA }));
    return [
      ...underAll(
        plain.map(({ operation }): FaultStep => ({ fault: "processor", operation, behaviours: [{ do: "decline" }] })),
        [{ do: "start", attempts: first }, { do: "join" }],
      ),
      { do: "persist", attempts: first },
      { do: "send", attempts: plain },
      { do: "observe" },
    ];
  },
};

export default scenario;

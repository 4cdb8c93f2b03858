/** The client hangs up while the processor is at work on its charge, and retries at once. */
import type { FaultStep } from "../harness/fault.ts";
import { times, underAll } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

/** The processor takes so long; less than what callers of one usually grant it. */
const CALL_MS = 250;
/** In the middle of the call, whenever it began. */
const PATIENCE_MS = 150;

const scenario: Scenario = {
  id: "disconnect-during-call",
  title: "Client disconnects during the downstream call",
  requirement: "A client that hung up during the downstream call, and retries at once, causes no second one",
  exercises: ["one-downstream-operation", "no-blind-reexecution", "at-most-one-effect", "every-key-resolves"],
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
    return [
      ...underAll(
        plain.map(
          ({ operation }): FaultStep => ({ fault: "processor", operation, behaviours: [{ do: "late", ms: CALL_MS }] }),
        ),
        [
          { do: "start", attempts: plain.map((plan) => ({ ...plan, abortAfterMs: PATIENCE_MS })) },
          { do: "join" },
          { do: "persist", attempts: plain },
        ],
      ),
      { do: "send", attempts: plain },
      { do: "observe" },
    ];
  },
};

export default scenario;

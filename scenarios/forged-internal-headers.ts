/** A client sends the headers by which the key layer marks its own answers. */
import { times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "forged-internal-headers",
  title: "Forged internal headers",
  requirement: "Headers that mean something inside the key layer mean nothing when a client sends them",
  exercises: ["internal-markers-are-inert", "acknowledged-effect-exists"],

  plan({ samples, endpoints, callers, contract }) {
    if (contract.internalHeaders.length === 0) return { skip: "the contract names no internal headers" };
    return times(samples, (sample) => {
      const plain: AttemptPlan = { operation: `s${sample}`, endpoint: endpoints[0].name, caller: callers[0] };
      const forged: AttemptPlan = { ...plain, forged: true };
      return { do: "send" as const, attempts: [forged, forged, plain] };
    });
  },
};

export default scenario;

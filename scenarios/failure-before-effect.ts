/** The service fails before anything happened: the retry must find a free key, not the failure for ever. */
import { times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "failure-before-effect",
  title: "Failure before any effect",
  requirement: "A 5xx before any effect is kept or forgotten as the contract says",
  exercises: ["error-policy-is-kept", "at-most-one-effect"],

  plan({ samples, endpoints, callers, contract }) {
    const endpoint = endpoints.find(({ canFail }) => canFail);
    if (endpoint === undefined) {
      return { skip: "the target file names no way to make a handler fail (operations.<name>.fails)" };
    }
    if (contract.stored.failedBeforeEffect === "undocumented") {
      return { skip: "the contract leaves failures before any effect undocumented" };
    }
    return times(samples, (sample) => {
      const plain: AttemptPlan = { operation: `s${sample}`, endpoint: endpoint.name, caller: callers[0] };
      const failing: AttemptPlan = { ...plain, condition: "fails" };
      return { do: "send" as const, attempts: [failing, failing, plain, plain] };
    });
  },
};

export default scenario;

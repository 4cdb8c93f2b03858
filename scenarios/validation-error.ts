/** An invalid request, its retry, and the request put right under the same key. */
import { times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "validation-error",
  title: "Validation error, retry, corrected retry",
  requirement: "A validation error is kept or forgotten as the contract says, and has no effect",
  exercises: ["error-policy-is-kept", "no-effect-without-acceptance"],

  plan({ samples, endpoints, callers, contract }) {
    const endpoint = endpoints.find(({ hasInvalid }) => hasInvalid);
    if (endpoint === undefined) return { skip: "the target file names no invalid payload (operations.<name>.invalid)" };
    if (contract.stored.validation === "undocumented") {
      return { skip: "the contract leaves stored validation errors undocumented" };
    }
    return times(samples, (sample) => {
      const corrected: AttemptPlan = { operation: `s${sample}`, endpoint: endpoint.name, caller: callers[0] };
      const invalid: AttemptPlan = { ...corrected, payload: { kind: "invalid" } };
      // Never put right, so that every answer of it is a rejection, whatever becomes of the key.
      const hopeless: AttemptPlan = { ...invalid, operation: `s${sample}-never-corrected` };
      return { do: "send" as const, attempts: [invalid, invalid, invalid, corrected, corrected, hopeless, hopeless] };
    });
  },
};

export default scenario;

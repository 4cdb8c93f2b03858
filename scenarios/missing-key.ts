/** A request that should have had a key. */
import { times } from "../harness/plan.ts";
import type { Scenario } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "missing-key",
  title: "Missing key",
  requirement: "A request without the key it needs is refused and has no effect",
  exercises: ["missing-key-is-rejected", "no-effect-without-acceptance"],

  plan({ samples, endpoints, callers, contract }) {
    const { missing } = contract.key;
    if (missing === "executes" || missing === "undocumented") return { skip: "the contract does not ask for a key" };
    return endpoints.map(({ name: endpoint }) => ({
      do: "send" as const,
      attempts: times(samples, (sample) => ({
        operation: `${endpoint}-${sample}`,
        endpoint,
        caller: callers[0],
        key: null,
      })),
    }));
  },
};

export default scenario;

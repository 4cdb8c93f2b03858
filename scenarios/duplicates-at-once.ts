/** The heart of it: many copies of one request at the same moment, on all replicas. */
import type { AttemptPlan, Scenario, Step } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "duplicates-at-once",
  title: "Duplicates at once",
  requirement: "Of many equal requests at one moment exactly one executes; every retry gets its answer",
  exercises: ["at-most-one-effect", "acknowledged-effect-exists", "replay-is-identical"],

  plan({ rounds, bursts, gates, endpoints: [{ name: endpoint }], callers: [caller] }) {
    const steps: Step[] = [];
    for (const size of bursts) {
      for (let round = 1; round <= rounds; round += 1) {
        const attempt: AttemptPlan = { operation: `of-${size}-r${round}`, endpoint, caller };
        const gate = gates[round % gates.length] ?? gates[0];
        steps.push({ do: "burst", gate, attempts: Array.from({ length: size }, () => attempt) });
        steps.push({ do: "send", attempts: [attempt, attempt] });
      }
    }
    return steps;
  },
};

export default scenario;

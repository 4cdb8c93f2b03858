/** The plainest retry: the answer came, and the request is sent again, to each replica in turn. */
import { copies, times } from "../harness/plan.ts";
import type { Scenario } from "../harness/scenario.ts";

const RETRIES = 4;

const scenario: Scenario = {
  id: "retry-after-answer",
  title: "Retry after the answer",
  requirement: "A retry after completion gets the stored answer: status, body and promised headers",
  exercises: ["replay-is-identical", "replay-is-marked", "once-completed-always-completed", "effect-matches-answer"],

  plan({ samples, endpoints, callers }) {
    const steps = endpoints.flatMap(({ name: endpoint }) =>
      callers.flatMap((caller) =>
        times(samples, (sample) => ({
          do: "send" as const,
          attempts: copies(1 + RETRIES, { operation: `${endpoint}-${caller}-${sample}`, endpoint, caller }),
        })),
      ),
    );
    return [...steps, { do: "observe" }];
  },
};

export default scenario;

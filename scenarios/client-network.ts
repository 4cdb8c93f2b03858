/**
 * The client's own network fails around one attempt: late, slow, in pieces, reset before or after it was executed,
 * cut short, silent. The client cannot know what became of it, so it asks again, over a line that works.
 */
import { NETWORK_FAULTS, type NetworkFault } from "../harness/fault.ts";
import type { AttemptPlan, PlanContext, Scenario, Step } from "../harness/scenario.ts";

/** A client does not wait longer for an answer that may never come. */
const PATIENCE_MS = 500;
const STRUCK_REPLICA = 0;

const scenario: Scenario = {
  id: "client-network",
  title: "Faults of the client's network",
  requirement: "A client that lost its answer gets it by asking again, and the operation took effect once",
  exercises: ["at-most-one-effect", "acknowledged-effect-exists", "every-key-resolves"],
  faulty: true,
  inTurn: true,
  usesLinks: true,

  plan(context) {
    const { client } = context.links;
    if (typeof client === "object") return client;
    if (client === "absent") return { skip: "the clients' requests do not go through links" };
    const struck = NETWORK_FAULTS.flatMap((fault) => operationsUnder(context, fault));
    return [
      ...struck.map(
        ({ fault, plan }): Step => ({
          do: "during",
          fault: { fault, link: "client", replica: STRUCK_REPLICA },
          steps: [
            {
              do: "send",
              attempts: [{ ...plan, replica: STRUCK_REPLICA, throughLink: true, abortAfterMs: PATIENCE_MS }],
            },
          ],
        }),
      ),
      { do: "persist", attempts: struck.map(({ plan }) => plan) },
      { do: "send", attempts: struck.map(({ plan }) => plan) },
      { do: "observe" },
    ];
  },
};

interface Struck {
  readonly fault: NetworkFault;
  readonly plan: AttemptPlan;
}

function operationsUnder({ endpoints, callers }: PlanContext, fault: NetworkFault): readonly Struck[] {
  return endpoints.map(({ name }) => ({
    fault,
    plan: { operation: `${name}: ${fault}`, endpoint: name, caller: callers[0] },
  }));
}

export default scenario;

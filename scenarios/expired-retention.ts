/** Just before retention ends the answer is still there; after it the key is new. */
import { keyOf, times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

/** A longer retention is not waited for. */
const RETENTION_MS_MAX = 30_000;
const MARGIN_MS = 700;

const scenario: Scenario = {
  id: "expired-retention",
  title: "Expired retention",
  requirement: "Within retention the answer is replayed; after it the key stands for a new operation",
  exercises: ["retention-is-kept"],
  beside: true,

  plan({ samples, endpoints, callers, contract, replicas }) {
    const { retentionMs } = contract;
    if (retentionMs === "undocumented") return { skip: "the contract leaves retention undocumented" };
    if (retentionMs > RETENTION_MS_MAX) {
      return {
        skip: `retention is ${retentionMs} ms and is not waited for; give the target one of ${RETENTION_MS_MAX} ms or less and say so in contract.retentionMs`,
      };
    }
    const plain = (kind: string): readonly AttemptPlan[] =>
      times(
        samples * 2,
        (sample): AttemptPlan => ({ operation: `${kind}-${sample}`, endpoint: endpoints[0].name, caller: callers[0] }),
      );
    const retried = plain("retried");
    // Whether a replay extends retention is nobody's promise, so these are left alone until it is over.
    const left = plain("left");
    const later = left.map(
      ({ operation, ...plan }): AttemptPlan => ({ ...plan, operation: `${operation}-later`, key: keyOf(operation) }),
    );
    return [
      { do: "send", attempts: [...left, ...retried] },
      { do: "wait", ms: Math.ceil(retentionMs * 0.6) },
      // The answer is there for every replica, not only for the one that gave it.
      {
        do: "send",
        attempts: times(replicas, (number) => retried.map((plan) => ({ ...plan, replica: number - 1 }))).flat(),
      },
      { do: "wait", ms: Math.ceil(retentionMs * 0.4) + MARGIN_MS },
      { do: "send", attempts: later },
      { do: "send", attempts: later },
    ];
  },
};

export default scenario;

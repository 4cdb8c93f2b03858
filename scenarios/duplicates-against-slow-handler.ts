/** Duplicates that come while the first is still at work: the longest window there is. */
import { burstOfKeys, copies, NO_SLOW, slowEndpoint, times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

const KEYS_AT_ONCE = 5;

const scenario: Scenario = {
  id: "duplicates-against-slow-handler",
  title: "Duplicates against a slow handler",
  requirement: "While a request is in flight its duplicates are told to wait, and none of them executes",
  exercises: [
    "at-most-one-effect",
    "conflict-only-while-in-flight",
    "conflict-invites-retry",
    "duplicates-get-a-promised-answer",
  ],

  plan(context) {
    const endpoint = slowEndpoint(context);
    if (endpoint === null) return NO_SLOW;
    const { rounds, bursts, callers } = context;
    const perKey = Math.max(2, Math.floor((bursts.at(-1) ?? 2) / KEYS_AT_ONCE));
    const slow = (name: string): AttemptPlan => ({
      operation: name,
      endpoint: endpoint.name,
      caller: callers[0],
      condition: "slow",
    });
    return times(Math.ceil(rounds / KEYS_AT_ONCE), (round) => [
      burstOfKeys(context, round, KEYS_AT_ONCE, (name) => copies(perKey, slow(name))),
      { do: "send" as const, attempts: times(KEYS_AT_ONCE, (number) => slow(`r${round}-k${number}`)) },
    ]).flat();
  },
};

export default scenario;

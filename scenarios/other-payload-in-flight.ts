/** Two different payloads race for one key: one of them may win, the other must not get its answer. */
import { burstOfKeys, copies, keyOf, NO_SLOW, slowEndpoint, times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

const KEYS_AT_ONCE = 5;

const scenario: Scenario = {
  id: "other-payload-in-flight",
  title: "Other payload while in flight",
  requirement: "Of two payloads that race for one key at most one is accepted",
  exercises: ["no-replay-across-mismatch", "no-effect-without-acceptance"],

  plan(context) {
    const endpoint = slowEndpoint(context);
    if (endpoint === null) return NO_SLOW;
    if (endpoint.fields.length === 0) return { skip: "the target file names no outcome fields that could be changed" };
    const { rounds, bursts, callers } = context;
    const each = Math.max(1, Math.floor((bursts.at(-1) ?? 2) / KEYS_AT_ONCE / 2));
    const first = (name: string): AttemptPlan => ({
      operation: name,
      endpoint: endpoint.name,
      caller: callers[0],
      condition: "slow",
    });
    const other = (name: string): AttemptPlan => ({
      ...first(name),
      operation: `${name}-other`,
      key: keyOf(name),
      payload: { kind: "other" },
    });
    return times(Math.ceil(rounds / KEYS_AT_ONCE), (round) => {
      const names = times(KEYS_AT_ONCE, (number) => `r${round}-k${number}`);
      return [
        burstOfKeys(context, round, KEYS_AT_ONCE, (name) => [
          ...copies(each, first(name)),
          ...copies(each, other(name)),
        ]),
        // Twice, so that who was accepted and who was refused is still so after the other one came.
        {
          do: "send" as const,
          attempts: names.flatMap((name) => [first(name), other(name), first(name), other(name)]),
        },
      ];
    }).flat();
  },
};

export default scenario;

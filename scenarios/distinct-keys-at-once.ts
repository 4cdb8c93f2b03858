/** The control group: many different operations at once, which have nothing to do with each other. */
import { gateOf, times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario, Step } from "../harness/scenario.ts";

/** A burst of distinct keys costs the target as many executions as it has keys. */
const ROUNDS_PER_BURST = 10;

const scenario: Scenario = {
  id: "distinct-keys-at-once",
  title: "Distinct keys at once",
  requirement: "Requests under different keys all execute, also when their bodies are equal or empty",
  exercises: ["acknowledged-effect-exists", "distinct-keys-stay-distinct", "duplicates-cause-no-server-error"],

  plan(context) {
    const { rounds, bursts, endpoints, callers } = context;
    const size = bursts.at(-1) ?? 2;
    const many = (round: number, kind: string, shared: Partial<AttemptPlan>): Step => ({
      do: "burst",
      gate: gateOf(context, round),
      attempts: times(size, (number) => ({
        operation: `${kind}-r${round}-k${number}`,
        endpoint: endpoints[0].name,
        caller: callers[0],
        ...shared,
      })),
    });
    const bodiless = endpoints.find(({ hasBody }) => !hasBody);
    return times(Math.ceil(rounds / ROUNDS_PER_BURST), (round) => [
      many(round, "own-body", {}),
      many(round, "same-body", { reference: `same-body-r${round}` }),
      ...(bodiless ? [many(round, "no-body", { endpoint: bodiless.name })] : []),
    ]).flat();
  },
};

export default scenario;

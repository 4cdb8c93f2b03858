/** Keys that are none: empty, too long, of characters that the contract does not take. */
import { UNIQUE } from "../harness/plan.ts";
import type { AttemptPlan, PlanContext, Scenario } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "malformed-keys",
  title: "Malformed keys",
  requirement: "A malformed key is refused and has no effect; it is neither cut, nor cleaned, nor taken for no key",
  exercises: ["malformed-key-is-rejected", "no-effect-without-acceptance"],

  plan(context) {
    if (context.contract.key.malformed === "undocumented") {
      return { skip: "the contract leaves malformed keys undocumented" };
    }
    const { endpoints, callers } = context;
    const attempts = malformedKeys(context).map(
      ({ malformed, key }): AttemptPlan => ({
        operation: malformed,
        endpoint: endpoints[0].name,
        caller: callers[0],
        key,
        malformed,
      }),
    );
    return [{ do: "send", attempts: [...attempts, ...attempts] }];
  },
};

function malformedKeys({ contract }: PlanContext): { malformed: NonNullable<AttemptPlan["malformed"]>; key: string }[] {
  const { maxLength, format } = contract.key;
  const unique = `k-${UNIQUE}`;
  return [
    { malformed: "empty", key: "" },
    { malformed: "charset", key: format === "uuid" ? unique : `${unique} \u00fcber` },
    ...(maxLength === "undocumented"
      ? []
      : [{ malformed: "too-long" as const, key: unique.padEnd(maxLength + unique.length, "x") }]),
  ];
}

export default scenario;

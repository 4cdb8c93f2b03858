/** Keys that a careless store takes for one: by case, by a cut at some length, by a shared beginning. */
import { keyOf, UNIQUE } from "../harness/plan.ts";
import type { AttemptPlan, PlanContext, Scenario } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "look-alike-keys",
  title: "Look-alike keys",
  requirement: "Keys that differ in case, in length or in their last character are different keys",
  exercises: ["distinct-keys-stay-distinct", "acknowledged-effect-exists"],

  plan(context) {
    const { endpoints, callers, contract } = context;
    const plan = (operation: string, key: string): AttemptPlan => ({
      operation,
      endpoint: endpoints[0].name,
      caller: callers[0],
      key,
    });
    const attempts = lookAlikes(context).map((key, index) => plan(`look-alike-${index + 1}`, key));
    // Space around a field's value is not part of it (RFC 9110 section 5.5), so this is a retry.
    const plain = plan("padded", ownKey(context, "padded"));
    const padded = "header" in contract.key.placement ? [plain, { ...plain, key: `${plain.key ?? ""} ` }, plain] : [];
    return [{ do: "send", attempts: [...attempts, ...attempts, ...padded] }];
  },
};

function lookAlikes(context: PlanContext): readonly string[] {
  const { format, maxLength, caseSensitive } = context.contract.key;
  if (format === "uuid") return [keyOf("a"), keyOf("b")];
  const unique = ownKey(context, "a");
  const longest = maxLength === "undocumented" ? 64 : maxLength;
  // The template's name is longer than what comes in its place.
  const long = unique.padEnd(longest - UNIQUE_CHARACTERS + UNIQUE.length - 1, "x");
  return [
    `${unique}-abc`,
    ...(caseSensitive === true ? [`${unique}-ABC`, `${unique}-Abc`] : []),
    `${unique}-abc0`,
    `${unique}-ab`,
    `${long}1`,
    `${long}2`,
  ];
}

/** As `naming.ts` makes them. */
const UNIQUE_CHARACTERS = 12;

function ownKey({ contract }: PlanContext, name: string): string {
  return contract.key.format === "uuid" ? keyOf(name) : `${name}-${UNIQUE}`;
}

export default scenario;

/** Two callers who happen, or who try, to use the same key: neither may see or lose anything by it. */
import { gateOf, keyOf, times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario, Step } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "same-key-other-caller",
  title: "Same key, other caller",
  requirement: "A key belongs to its caller: another one's request executes and never sees the first answer",
  exercises: ["scopes-are-isolated", "acknowledged-effect-exists"],

  plan(context) {
    const { samples, endpoints, callers } = context;
    const [alice, bob] = callers;
    if (bob === undefined) return { skip: "the target file names only one caller (callers)" };
    const endpoint = endpoints[0].name;
    return times(samples, (sample): readonly Step[] => {
      const first: AttemptPlan = { operation: `s${sample}`, endpoint, caller: alice };
      const key = keyOf(`s${sample}`);
      // The very same body: what a target that forgets the caller would replay.
      const twin: AttemptPlan = { operation: `s${sample}-twin`, reference: `s${sample}`, key, endpoint, caller: bob };
      const racing: AttemptPlan = { operation: `s${sample}-race`, endpoint, caller: alice };
      const rival: AttemptPlan = {
        operation: `s${sample}-rival`,
        reference: `s${sample}-race`,
        key: keyOf(`s${sample}-race`),
        endpoint,
        caller: bob,
      };
      const own: AttemptPlan = { operation: `s${sample}-own`, endpoint, caller: alice };
      const others: AttemptPlan = {
        operation: `s${sample}-others`,
        key: keyOf(`s${sample}-own`),
        endpoint,
        caller: bob,
      };
      return [
        { do: "send", attempts: [first, twin, first, twin, own, others, own, others] },
        { do: "burst", gate: gateOf(context, sample), attempts: [racing, rival, racing, rival] },
        { do: "send", attempts: [racing, rival] },
      ];
    }).flat();
  },
};

export default scenario;

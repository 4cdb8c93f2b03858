/** After every kind of rejection under its key the original must still be there. */
import { copies, keyOf, times } from "../harness/plan.ts";
import type { AttemptPlan, PlanContext, Scenario, Step } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "retry-after-each-rejection",
  title: "Retry after each rejection",
  requirement: "A rejection under a used key changes nothing: the original still replays",
  exercises: ["original-survives-rejection", "once-completed-always-completed"],
  beside: true,

  plan(context) {
    const endpoint = context.endpoints.find(({ fields, hasInvalid }) => fields.length > 0 || hasInvalid);
    if (endpoint === undefined) return { skip: "the target file names neither outcome fields nor an invalid payload" };
    return times(context.samples, (sample): readonly Step[] => {
      const first: AttemptPlan = { operation: `s${sample}`, endpoint: endpoint.name, caller: context.callers[0] };
      const rejected = rejections(context, first);
      return [
        { do: "send", attempts: [first, ...rejected.flatMap((rejection) => [rejection, first, first])] },
        ...inFlightRejection(context, { ...first, operation: `s${sample}-slow` }),
      ];
    }).flat();
  },
};

function rejections({ endpoints }: PlanContext, first: AttemptPlan): readonly AttemptPlan[] {
  const { fields = [], hasInvalid = false } = endpoints.find(({ name }) => name === first.endpoint) ?? {};
  const key = keyOf(first.operation);
  return [
    ...(fields.length > 0
      ? [{ ...first, operation: `${first.operation}-other`, key, payload: { kind: "other" as const } }]
      : []),
    ...(hasInvalid
      ? [{ ...first, operation: `${first.operation}-invalid`, key, payload: { kind: "invalid" as const } }]
      : []),
  ];
}

/** Duplicates told to wait while the first works. */
function inFlightRejection({ endpoints }: PlanContext, plan: AttemptPlan): readonly Step[] {
  const slowMs = endpoints.find(({ name }) => name === plan.endpoint)?.slowMs ?? null;
  if (slowMs === null) return [];
  const slow: AttemptPlan = { ...plan, condition: "slow" };
  return [
    { do: "start", attempts: [slow] },
    { do: "wait", ms: Math.ceil(slowMs / 4) },
    { do: "send", attempts: [slow] },
    { do: "join" },
    { do: "send", attempts: copies(2, plan) },
  ];
}

export default scenario;

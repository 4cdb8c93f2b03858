/** The database crashes and recovers, with keys completed before it and one operation in mid-work. */
import { slowEndpoint, times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "database-crash",
  title: "The database crashes after the answers",
  requirement: "What was answered before the database crashed is answered again after it, and not executed again",
  exercises: ["at-most-one-effect", "acknowledged-effect-exists", "once-completed-always-completed"],
  faulty: true,
  inTurn: true,

  plan(context) {
    const { callers, endpoints, hasDatabase, samples } = context;
    if (!hasDatabase) return { skip: "the target does not use the lab's database (${postgres})" };
    const done = endpoints.flatMap(({ name }) =>
      times(samples, (sample): AttemptPlan => ({ operation: `${name}-${sample}`, endpoint: name, caller: callers[0] })),
    );
    const slow = slowEndpoint(context);
    const inWork: readonly AttemptPlan[] =
      slow === null ? [] : [{ operation: "in-work", endpoint: slow.name, caller: callers[0] }];
    return [
      { do: "persist", attempts: done },
      { do: "start", attempts: inWork.map((plan) => ({ ...plan, condition: "slow" })) },
      { do: "wait", ms: Math.ceil((slow?.slowMs ?? 0) / 2) },
      { do: "during", fault: { fault: "database-crash" }, steps: [] },
      { do: "join" },
      { do: "persist", attempts: [...done, ...inWork] },
      { do: "send", attempts: done },
      { do: "observe" },
    ];
  },
};

export default scenario;

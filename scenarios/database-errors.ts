/**
 * The database answers, and says no: the transaction cannot be serialized, is given up for a deadlock, took too
 * long; or it says nothing for a while, and every connection of the pool is waiting. The errors strike the first
 * statement that writes, and where the target has failpoints they are placed. Another one, of those that nobody
 * tries again for on his own, strikes each write and each commit of an operation in turn.
 */
import { databaseErrorCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";
import { times, waitableLeaseMs } from "../harness/plan.ts";
import { refusedInTurn } from "../harness/refused-in-turn.ts";
import type { AttemptPlan, PlanContext, Scenario, Step } from "../harness/scenario.ts";

const ERRORS = ["serialization-failure", "deadlock", "statement-timeout"] as const;
/** More than an ordinary pool has connections, on each replica. */
const KEYS_PER_POOL = 24;
const EXHAUSTED_MS = 300;

const placed = faultsAt({
  id: "database-errors",
  phases: ["claimed", "intent-recorded", "before-completion", "before-commit"],
  when: "that the database reports",
  cells: databaseErrorCells,
  together: true,
});

const scenario: Scenario = {
  ...placed,
  requirement:
    "A statement that the database refuses has happened not at all, and a client that retries gets its answer",

  plan(context) {
    if (!context.hasDatabase) return { skip: "the target does not use the lab's database (${postgres})" };
    const grid = placed.plan(context);
    return [
      ...firstStatements(context),
      ...eachWrite(context),
      ...poolExhausted(context),
      ...("skip" in grid || "lacking" in grid ? [] : grid),
    ];
  },
};

function firstStatements({ endpoints, callers }: PlanContext): readonly Step[] {
  const plans = endpoints.flatMap(({ name: endpoint }) =>
    ERRORS.map((fault) => ({ fault, plan: { operation: `${endpoint}: ${fault}`, endpoint, caller: callers[0] } })),
  );
  const attempts = plans.map(({ plan }) => plan);
  return [
    ...plans.map(
      ({ fault, plan }): Step => ({ do: "during", fault: { fault }, steps: [{ do: "send", attempts: [plan] }] }),
    ),
    { do: "persist", attempts },
    { do: "send", attempts },
  ];
}

/** The clients come back, whatever they were told. An endpoint at a time, so that no key outlives its retention. */
function eachWrite(context: PlanContext): readonly Step[] {
  const { leaseMs } = context.contract;
  // A holder that failed may leave its key held, and such a lease is not waited for.
  if (leaseMs !== "undocumented" && typeof waitableLeaseMs(context) !== "number") return [];
  return context.endpoints.flatMap((endpoint): readonly Step[] => {
    const { attempts, step } = refusedInTurn(context, endpoint);
    return [
      step,
      { do: "observe" },
      { do: "persist", attempts, only: "begun" },
      { do: "send", attempts, only: "begun" },
    ];
  });
}

/** Each key twice, so that a duplicate waits for a connection while its first attempt has one. */
function poolExhausted({ endpoints, callers, replicas }: PlanContext): readonly Step[] {
  const plans = times(
    KEYS_PER_POOL * replicas,
    (number): AttemptPlan => ({
      operation: `pool-${number}`,
      endpoint: (endpoints[number % endpoints.length] ?? endpoints[0]).name,
      caller: callers[0],
    }),
  );
  return [
    {
      do: "during",
      fault: { fault: "connections-exhausted" },
      steps: [
        { do: "start", attempts: [...plans, ...plans] },
        { do: "wait", ms: EXHAUSTED_MS },
      ],
    },
    { do: "join" },
    { do: "persist", attempts: plans },
    { do: "send", attempts: plans.slice(0, replicas) },
    { do: "observe" },
  ];
}

export default scenario;

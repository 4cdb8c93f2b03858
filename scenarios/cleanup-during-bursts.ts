/** Expired records are being removed while live claims stand beside them. */
import { burstOfKeys, copies, NO_SLOW, slowEndpoint, times } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

const RETENTION_MS_MAX = 30_000;
const KEYS_AT_ONCE = 5;
const EXPIRING_KEYS = 100;

const scenario: Scenario = {
  id: "cleanup-during-bursts",
  title: "Cleanup during bursts",
  requirement: "Removing expired records never frees a live claim and never disturbs a race",
  exercises: ["at-most-one-effect", "duplicates-cause-no-server-error"],
  beside: true,

  plan(context) {
    const endpoint = slowEndpoint(context);
    const { retentionMs } = context.contract;
    if (endpoint === null) return NO_SLOW;
    if (retentionMs === "undocumented" || retentionMs > RETENTION_MS_MAX) {
      return { skip: "cleanup can only be watched where retention is short (contract.retentionMs of 30000 or less)" };
    }
    const caller = context.callers[0];
    const plain = (operation: string): AttemptPlan => ({ operation, endpoint: endpoint.name, caller });
    const expiring = times(EXPIRING_KEYS, (number) => plain(`expiring-${number}`));
    return [
      { do: "start", attempts: expiring },
      { do: "join" },
      { do: "wait", ms: retentionMs },
      // The cleaner is at work from here on.
      ...times(Math.ceil(context.rounds / KEYS_AT_ONCE), (round) => [
        burstOfKeys(context, round, KEYS_AT_ONCE, (name) => copies(4, { ...plain(name), condition: "slow" as const })),
        { do: "send" as const, attempts: times(KEYS_AT_ONCE, (number) => plain(`r${round}-k${number}`)) },
      ]).flat(),
    ];
  },
};

export default scenario;

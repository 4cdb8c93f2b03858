/**
 * The clock of one replica is wrong by more than a day. Whoever takes leases and retention from the database's
 * clock does not notice; whoever asks his own takes keys over that are held, forgets what was answered, or holds
 * a key for a day.
 */
import {
  copies,
  gateOf,
  isQuick,
  NO_SECOND_REPLICA,
  NO_SLOW,
  slowEndpoint,
  times,
  waitableLeaseMs,
} from "../harness/plan.ts";
import type { AttemptPlan, Scenario, Step } from "../harness/scenario.ts";

const RIGHT_REPLICA = 0;
const WRONG_REPLICA = 1;
const KEYS = 6;
const RACERS_PER_KEY = 4;
const BURSTS = 5;
/** Long enough for a cleaner by the wrong clock to come by. */
const CLEANER_MS = 600;

const scenario: Scenario = {
  id: "skewed-clock",
  title: "One replica's clock is wrong",
  requirement: "A replica whose clock is a day ahead holds, takes over and forgets keys like any other",
  exercises: ["at-most-one-effect", "replay-is-identical", "once-completed-always-completed", "every-key-resolves"],
  faulty: true,
  inTurn: true,

  plan(context) {
    const endpoint = slowEndpoint(context);
    if (endpoint === null) return NO_SLOW;
    if (!context.canPause) return { skip: "only a target that the harness starts can be given another clock (start)" };
    if (!context.canSkewClock) {
      return {
        skip: "this machine has no libfaketime, which makes clocks wrong (Debian and Ubuntu: apt-get install faketime)",
      };
    }
    if (context.replicas < 2) return NO_SECOND_REPLICA;
    const leaseMs = waitableLeaseMs(context);
    if (typeof leaseMs !== "number") return leaseMs;
    const many = (kind: string): readonly AttemptPlan[] =>
      times(KEYS, (number) => ({
        operation: `${kind}-${number}`,
        endpoint: endpoint.name,
        caller: context.callers[0],
      }));
    const on = (replica: number, plans: readonly AttemptPlan[]): readonly AttemptPlan[] =>
      plans.map((plan) => ({ ...plan, replica }));
    const slow = (plans: readonly AttemptPlan[]): readonly AttemptPlan[] =>
      plans.map((plan) => ({ ...plan, condition: "slow" as const }));
    const before = many("answered-before");
    const heldRight = many("held-by-the-right");
    const heldWrong = many("held-by-the-wrong");
    const frozen = many("frozen-on-the-wrong");
    const held = [...on(WRONG_REPLICA, heldRight), ...on(RIGHT_REPLICA, heldWrong)];
    const steps: readonly Step[] = [
      { do: "send", attempts: on(RIGHT_REPLICA, before) },
      // In flight on one, asked for on the other; then the other way round.
      { do: "start", attempts: [...on(RIGHT_REPLICA, slow(heldRight)), ...on(WRONG_REPLICA, slow(heldWrong))] },
      { do: "wait", ms: Math.ceil(endpoint.slowMs / 3) },
      { do: "burst", gate: "last-body-byte", mayMiss: true, attempts: held },
      { do: "persist", attempts: held },
      { do: "join" },
      { do: "wait", ms: CLEANER_MS },
      { do: "send", attempts: [...on(WRONG_REPLICA, before), ...held] },
      ...times(
        isQuick(context) ? 1 : BURSTS,
        (round): Step => ({
          do: "burst",
          gate: gateOf(context, round),
          attempts: many(`raced-${round}`).flatMap((plan) => copies(RACERS_PER_KEY, plan)),
        }),
      ),
      // Frozen, it leaves behind leases that it took by its own clock.
      { do: "start", attempts: on(WRONG_REPLICA, slow(frozen)) },
      { do: "wait", ms: Math.ceil(endpoint.slowMs / 2) },
      {
        do: "during",
        fault: { fault: "pause-replica", replica: WRONG_REPLICA },
        steps: [{ do: "persist", attempts: on(RIGHT_REPLICA, frozen) }, { do: "observe" }],
      },
      { do: "join" },
      { do: "send", attempts: [...on(WRONG_REPLICA, frozen), ...on(RIGHT_REPLICA, frozen)] },
    ];
    return [{ do: "during", fault: { fault: "skewed-clock", replica: WRONG_REPLICA }, steps }, { do: "observe" }];
  },
};

export default scenario;

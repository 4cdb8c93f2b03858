/**
 * At the phases that matter a holder is stopped exactly there, its replica freezes, its lease ends and others take over; then
 * it wakes up and goes on with what it was about to do. What it may do then differs from phase to phase, and is
 * always nothing. The black-box version of this is `expired-lease`.
 */
import type { FaultStep } from "../harness/fault.ts";
import { copies, NO_SECOND_REPLICA, placesAt, underAll, waitableLeaseMs } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

/** Before anything was done, before and after the call, and with everything done but the commit. */
const PHASES = ["claimed", "intent-recorded", "downstream-called", "before-commit"];
const FROZEN_REPLICA = 0;
const OTHER_REPLICA = 1;
/** In leases: longer than it takes until the freeze, on a busy machine too. They all go on soon after its end. */
const STANDING_LEASES = 1.5;
/** For the last of them to be told to stand still, before its replica hears nothing any more. */
const TOLD_MS = 80;
const RACERS_PER_KEY = 3;
const AFTERMATH_MS = 400;

const scenario: Scenario = {
  id: "zombie-wakes-after-takeover",
  title: "A zombie wakes after the takeover",
  requirement: "Whatever a holder was about to do when it lost its key, it does nothing of it when it wakes up",
  exercises: ["zombie-is-fenced", "single-takeover", "at-most-one-effect", "every-key-resolves"],
  faulty: true,
  inTurn: true,

  plan(context) {
    const places = placesAt(context, PHASES);
    if (places.length === 0) {
      return { skip: "no operation has failpoints (operations.<name>.failpoints); expired-lease does without" };
    }
    if (!context.canPause) return { skip: "only a target that the harness starts can be frozen (start)" };
    if (context.replicas < 2) return NO_SECOND_REPLICA;
    const leaseMs = waitableLeaseMs(context);
    if (typeof leaseMs !== "number") return leaseMs;
    const struck = places.map(({ endpoint, phase }) => ({
      phase,
      plan: {
        operation: `${endpoint.name} ${phase}`,
        endpoint: endpoint.name,
        caller: context.callers[0],
      } as AttemptPlan,
    }));
    const plans = struck.map(({ plan }) => plan);
    const elsewhere = plans.map((plan): AttemptPlan => ({ ...plan, replica: OTHER_REPLICA }));
    const faults = struck.map(
      ({ phase, plan: { operation } }): FaultStep => ({
        fault: "delay",
        ms: Math.ceil(STANDING_LEASES * leaseMs),
        at: { operation, phase, pass: 1 },
      }),
    );
    return [
      ...underAll(faults, [
        { do: "start", attempts: plans.map((plan) => ({ ...plan, replica: FROZEN_REPLICA })) },
        { do: "until-struck" },
        { do: "wait", ms: TOLD_MS },
        {
          do: "during",
          fault: { fault: "pause-replica", replica: FROZEN_REPLICA },
          steps: [
            // Told to wait: the proof that the keys are held.
            { do: "burst", gate: "last-body-byte", mayMiss: true, attempts: elsewhere },
            { do: "wait", ms: leaseMs },
            {
              do: "burst",
              gate: "last-body-byte",
              attempts: elsewhere.flatMap((plan) => copies(RACERS_PER_KEY, plan)),
            },
            { do: "persist", attempts: elsewhere },
            { do: "observe" },
          ],
        },
        { do: "join" },
      ]),
      { do: "wait", ms: AFTERMATH_MS },
      { do: "send", attempts: plans },
      { do: "observe" },
    ];
  },
};

export default scenario;

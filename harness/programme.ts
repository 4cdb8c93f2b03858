/**
 * The order in which the scenarios of a run are played: one after another on the copy of the target that
 * nothing disturbs, those that mostly wait beside them; and at the same time those whose faults others
 * would feel, on the copies that are there for it, each of which plays one at a time.
 */
import { setMaxListeners } from "node:events";
import { Failure } from "./fail.ts";
import { planContextOf, type RunSize } from "./plan-context.ts";
import { play } from "./play.ts";
import type { Plan, Scenario } from "./scenario.ts";
import type { Stage } from "./stage.ts";

export type OnScenario = (number: number, of: number, title: string) => void;

export interface Stages {
  readonly calm: Stage;
  /** At least one where a scenario is `faulty`. */
  readonly faulty: readonly Stage[];
}

/** Throws what stopped the first of them; the others are stopped by it too. */
export async function playAll(
  { calm, faulty }: Stages,
  scenarios: readonly Scenario[],
  size: RunSize,
  onScenario: OnScenario,
): Promise<void> {
  let begun = 0;
  const [first = calm] = faulty;
  const waiting = waitingForTheirTurn(first, scenarios, size);
  const playEach = async (on: Stage, some: Iterable<Scenario>): Promise<void> => {
    for (const scenario of some) {
      if (waiting.has(scenario)) {
        const { id, title } = scenario;
        const reason = `a quick run plays one in ${QUICK_TURNS} of these scenarios; the seed says which`;
        on.journal.record({ type: "scenario", at: on.now(), id, state: "skipped", title, reason });
        continue;
      }
      begun += 1;
      onScenario(begun, scenarios.length, scenario.title);
      await playOne(on, scenario, size);
    }
  };
  const queue = scenarios.filter((scenario) => scenario.faulty).values();
  const beside = scenarios.filter((scenario) => scenario.beside && !scenario.faulty);
  const others = scenarios.filter((scenario) => !scenario.beside && !scenario.faulty);
  await allOrNone(calm.signal, (signal) => [
    ...beside.map((one) => playEach({ ...calm, signal }, [one])),
    playEach({ ...calm, signal }, others),
    // All of them take from the same list.
    ...faulty.map((stage) => playEach({ ...stage, signal }, queue)),
  ]);
}

/** A quick run plays one in so many of the scenarios that take turns. */
const QUICK_TURNS = 24;

/** Of those that this target can play at all: a turn is not spent on one that would only be skipped. */
function waitingForTheirTurn(on: Stage, scenarios: readonly Scenario[], size: RunSize): ReadonlySet<Scenario> {
  if (!size.takesTurns) return new Set();
  const playable = scenarios.filter((scenario) => scenario.inTurn && Array.isArray(planOf(on, scenario, size)));
  const turns = Math.min(QUICK_TURNS, playable.length);
  return new Set(playable.filter((_, index) => (size.seed + index) % turns !== 0));
}

function planOf(stage: Stage, scenario: Scenario, size: RunSize): Plan {
  return scenario.plan(planContextOf(stage.target, stage.running, size, scenario));
}

async function playOne(stage: Stage, scenario: Scenario, size: RunSize): Promise<void> {
  const plan = planOf(stage, scenario, size);
  const { id, title } = scenario;
  const skipped = { type: "scenario", at: stage.now(), id, state: "skipped", title } as const;
  if ("skip" in plan) return stage.journal.record({ ...skipped, reason: plan.skip });
  if ("lacking" in plan) return stage.journal.record({ ...skipped, reason: plan.lacking, isLacking: true });
  try {
    await play(stage, scenario, plan);
  } catch (error) {
    if (!(error instanceof Failure && error.code === "unavailable")) throw error;
    stage.journal.record({ ...skipped, at: stage.now(), reason: error.message });
  }
}

/** Runs lanes side by side; the first that fails stops the rest, and its error is the one that counts. */
async function allOrNone(outer: AbortSignal, lanes: (signal: AbortSignal) => readonly Promise<void>[]): Promise<void> {
  const stop = new AbortController();
  const failures: unknown[] = [];
  await Promise.all(
    lanes(manyListeners(AbortSignal.any([outer, stop.signal]))).map((lane) =>
      lane.catch((error: unknown) => {
        failures.push(error);
        stop.abort();
      }),
    ),
  );
  if (failures.length > 0) throw failures[0];
}

/** Every client that waits listens to it; that is no leak, of which Node would warn. */
function manyListeners(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}

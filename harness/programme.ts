/**
 * The order in which the scenarios of a run are played: one after another, those that mostly wait beside
 * them, and those whose fault others would feel alone at the end.
 */
import { planContextOf, type RunSize } from "./plan-context.ts";
import { play } from "./play.ts";
import type { Scenario } from "./scenario.ts";
import type { Stage } from "./stage.ts";

export type OnScenario = (number: number, of: number, title: string) => void;

/** Throws what stopped the first of them; the others are stopped by it too. */
export async function playAll(
  stage: Stage,
  scenarios: readonly Scenario[],
  size: RunSize,
  onScenario: OnScenario,
): Promise<void> {
  let begun = 0;
  const playEach = async (on: Stage, some: readonly Scenario[]): Promise<void> => {
    for (const scenario of some) {
      begun += 1;
      onScenario(begun, scenarios.length, scenario.title);
      await playOne(on, scenario, size);
    }
  };
  const beside = scenarios.filter((scenario) => scenario.beside);
  const alone = scenarios.filter((scenario) => scenario.alone);
  const others = scenarios.filter((scenario) => !scenario.beside && !scenario.alone);
  await allOrNone(stage, (shared) => [...beside.map((one) => playEach(shared, [one])), playEach(shared, others)]);
  await playEach(stage, alone);
}

async function playOne(stage: Stage, scenario: Scenario, size: RunSize): Promise<void> {
  const plan = scenario.plan(planContextOf(stage.target, stage.running, size, scenario));
  if ("skip" in plan) {
    const { id, title } = scenario;
    stage.journal.record({ type: "scenario", at: stage.now(), id, state: "skipped", title, reason: plan.skip });
    return;
  }
  await play(stage, scenario, plan);
}

/** Runs lanes side by side; the first that fails stops the rest, and its error is the one that counts. */
async function allOrNone(stage: Stage, lanes: (shared: Stage) => readonly Promise<void>[]): Promise<void> {
  const stop = new AbortController();
  const shared: Stage = { ...stage, signal: AbortSignal.any([stage.signal, stop.signal]) };
  const failures: unknown[] = [];
  await Promise.all(
    lanes(shared).map((lane) =>
      lane.catch((error: unknown) => {
        failures.push(error);
        stop.abort();
      }),
    ),
  );
  if (failures.length > 0) throw failures[0];
}

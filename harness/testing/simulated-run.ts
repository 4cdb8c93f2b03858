/**
 * A run without a target, a network or a clock: plays scenarios against the simulated server in virtual time
 * and gives the events that a journal would hold. The same options always give the same events.
 */
import type { ContractOverrides } from "../contract.ts";
import type { Event } from "../event.ts";
import type { RunningTarget } from "../lab/lab.ts";
import { planContextOf, type RunSize } from "../plan-context.ts";
import { randomOf } from "../random.ts";
import type { Scenario } from "../scenario.ts";
import { secretsOf } from "../secrets.ts";
import type { Target } from "../target.ts";
import { SimulatedBooks } from "./simulated-books.ts";
import { SimulatedClient } from "./simulated-client.ts";
import type { Behaviour } from "./simulated-defects.ts";
import { type Liberties, ordinary } from "./simulated-liberties.ts";
import { Pace } from "./simulated-pace.ts";
import { SimulatedPlayer, type SimulatedStage } from "./simulated-player.ts";
import { SimulatedServer } from "./simulated-server.ts";
import { RUN_ID, simulatedRunFacts, simulatedTarget } from "./simulated-target.ts";
import { type Process, VirtualTime } from "./virtual-time.ts";

export interface SimulationOptions {
  readonly scenarios: readonly Scenario[];
  readonly size: RunSize;
  readonly replicas: number;
  readonly behaviour: Behaviour;
  readonly liberties?: Liberties;
  readonly contract?: ContractOverrides;
  /** Probability that a message is lost, on each way of each attempt. */
  readonly loss?: number;
  /** The harness's clock moves in steps of so many microseconds; within one the order of events is lost. */
  readonly grain?: number;
}

export function simulate(options: SimulationOptions): readonly Event[] {
  const events: Event[] = [];
  const { grain = 1 } = options;
  const stage = setStage(options, (event) => events.push({ ...event, at: event.at - (event.at % grain) }));
  stage.time.run(run(stage, options));
  return events;
}

function setStage(options: SimulationOptions, record: (event: Event) => void): SimulatedStage {
  const { replicas, behaviour, liberties = ordinary, contract = {}, loss = 0 } = options;
  const random = randomOf(options.size.seed).fork("simulation");
  const time = new VirtualTime(random.fork("ties"));
  const pace = new Pace(random.fork("pace"));
  const target = simulatedTarget(replicas, contract);
  const serverOptions = { time, pace, replicas, behaviour, liberties, contract: target.contract };
  const server = new SimulatedServer({ ...serverOptions, random: random.fork("server") });
  const keys = new Set<string>();
  return {
    runId: RUN_ID,
    target,
    running: runningOf(target),
    secrets: secretsOf(target.file),
    keys,
    time,
    pace,
    server,
    client: new SimulatedClient({ time, pace, server, loss, random: random.fork("client") }),
    books: new SimulatedBooks(time, server, (key) => keys.has(key)),
    record,
  };
}

function runningOf({ file }: Target): RunningTarget {
  const nothing = async (): Promise<void> => undefined;
  return {
    urls: (file.urls ?? []).map((url) => new URL(url)),
    http2Urls: [],
    postgres: null,
    redis: null,
    powers: { pause: nothing, resume: nothing },
    processor: null,
    failpoints: null,
    baselineUrls: [],
    counted: null,
    clientLinks: [],
    links: { client: "absent", database: "absent", processor: "absent" },
    ended: () => null,
    labEnded: () => null,
  };
}

function* run(stage: SimulatedStage, { scenarios, size }: SimulationOptions): Process {
  const { time, target, record } = stage;
  record({ type: "run", format: 1, at: time.now, run: simulatedRunFacts(target, size.seed) });
  yield* playAll(stage, scenarios, size);
  const books = yield* stage.books.readWhenQuiet();
  record({ type: "observed", at: time.now, scenario: null, books });
  record({ type: "ended", at: time.now, ending: "done", message: null });
}

/** In the order of `programme.ts`. */
function* playAll(stage: SimulatedStage, scenarios: readonly Scenario[], size: RunSize): Process {
  const beside = scenarios.filter((scenario) => scenario.beside);
  const faulty = scenarios.filter((scenario) => scenario.faulty);
  const others = scenarios.filter((scenario) => !scenario.beside && !scenario.faulty);
  const lanes = [...beside.map((scenario) => [scenario]), others];
  const tasks = lanes.map((lane) => stage.time.start(playEach(stage, lane, size)));
  for (const task of tasks) yield* task.join();
  yield* playEach(stage, faulty, size);
}

function* playEach(stage: SimulatedStage, scenarios: readonly Scenario[], size: RunSize): Process {
  const { time, record } = stage;
  for (const scenario of scenarios) {
    const { id, title, requirement, exercises } = scenario;
    const plan = scenario.plan(planContextOf(stage.target, stage.running, size, scenario));
    if ("skip" in plan || "lacking" in plan) {
      const reason = "skip" in plan ? plan.skip : plan.lacking;
      record({ type: "scenario", at: time.now, id, state: "skipped", title, reason });
      continue;
    }
    record({ type: "scenario", at: time.now, id, state: "started", title, requirement, exercises });
    const player = new SimulatedPlayer(stage, id);
    yield* player.play(plan);
    yield* player.join();
    record({ type: "scenario", at: time.now, id, state: "finished" });
  }
}

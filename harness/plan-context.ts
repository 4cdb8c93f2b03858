/** What a plan may know of the target: the file's facts without its texts, and the size of the run. */
import type { Gate } from "./event.ts";
import type { RunningTarget } from "./lab/lab.ts";
import { changeableFields, spellingsOf } from "./payload.ts";
import { randomOf } from "./random.ts";
import type { Endpoint, PlanContext, Scenario } from "./scenario.ts";
import type { Target, TargetOperation } from "./target.ts";

export interface RunSize {
  readonly seed: number;
  readonly rounds: number;
  readonly samples: number;
  /** The largest burst. */
  readonly concurrency: number;
  /** Scenarios with faults take turns from seed to seed, and so do the faults in them: a quick run of everything. */
  readonly takesTurns?: boolean | undefined;
}

/** Sizes of bursts below the largest: a pair, and enough to fill an ordinary connection pool. */
const SMALLER_BURSTS = [2, 10];

export function planContextOf(target: Target, running: RunningTarget, size: RunSize, scenario: Scenario): PlanContext {
  const { file, contract } = target;
  const gates: [Gate, ...Gate[]] = ["last-body-byte", "last-header-byte"];
  if (running.http2Urls.length > 0) gates.push("http2");
  return {
    random: randomOf(size.seed).fork(scenario.id),
    rounds: size.rounds,
    samples: size.samples,
    seed: size.seed,
    takesTurns: size.takesTurns ?? false,
    bursts: burstSizes(size.concurrency),
    gates,
    replicas: running.urls.length,
    canPause: running.powers.pause !== undefined,
    canKill: running.powers.kill !== undefined,
    canSkewClock: running.powers.skewedClock !== undefined,
    canRedeploy: running.powers.redeployed !== undefined,
    hasDatabase: running.powers.database !== undefined,
    canCrashDatabase: running.powers.database?.crash !== undefined,
    hasProcessor: running.powers.instruct !== undefined,
    links: running.links,
    callers: nonEmpty(Object.keys(file.callers)),
    endpoints: nonEmpty(
      Object.entries(file.operations).map(([name, operation]) => endpointOf(name, operation, target, running)),
    ),
    contract,
  };
}

function endpointOf(
  name: string,
  operation: TargetOperation,
  { contract }: Target,
  { failpoints }: RunningTarget,
): Endpoint {
  return {
    name,
    fields: changeableFields(operation),
    spellings: spellingsOf(operation, contract),
    pairs: operation.different.length,
    hasInvalid: operation.invalid !== undefined,
    hasBody: operation.request.body !== undefined,
    query: operation.query ?? null,
    slowMs: operation.slow?.ms ?? null,
    canFail: operation.fails !== undefined,
    phases: failpoints === null ? [] : (operation.failpoints?.phases ?? []),
    isDownstream: operation.downstream,
  };
}

function burstSizes(largest: number): readonly [number, ...number[]] {
  return nonEmpty([...SMALLER_BURSTS.filter((size) => size < largest), largest]);
}

function nonEmpty<Value>(values: readonly Value[]): readonly [Value, ...Value[]] {
  const [first, ...others] = values;
  if (first === undefined) throw new Error("a target has at least one of each");
  return [first, ...others];
}

/** What a run knows of its target when it begins, as the history keeps it. No secrets. */
import type { Contract } from "./contract.ts";
import type { EndpointFacts, RunFacts } from "./event.ts";
import type { Recipe } from "./recipe.ts";
import type { Stage } from "./stage.ts";

export interface FactsOptions {
  readonly seed: number;
  readonly version: string;
  readonly command: string;
  readonly recipe?: Recipe;
}

export function runFactsOf({ runId, target, running }: Stage, options: FactsOptions): RunFacts {
  const { file, contract } = target;
  return {
    runId,
    seed: options.seed,
    startedAt: new Date().toISOString(),
    version: options.version,
    target: file.name,
    command: options.command,
    ...(options.recipe && { recipe: options.recipe }),
    urls: running.urls.map(withoutPassword),
    callers: Object.keys(file.callers),
    callerHeaders: mapValues(file.callers, ({ headers }) => Object.keys(headers)),
    endpoints: mapValues(
      file.operations,
      (operation): EndpointFacts => ({
        success: operation.success,
        invalidStatus: operation.invalidStatus,
        answer: operation.answer ?? null,
        slowMs: operation.slow?.ms ?? null,
        isDownstream: operation.downstream,
      }),
    ),
    contract: contract satisfies Contract,
    books: {
      effects: file.effects !== undefined,
      records: file.records !== undefined,
      downstream: running.processor !== null,
    },
    completedStates: file.records?.completed ?? [],
  };
}

function withoutPassword(url: URL): string {
  const copy = new URL(url);
  copy.username = "";
  copy.password = "";
  return copy.href;
}

function mapValues<Value, Result>(
  record: Readonly<Record<string, Value>>,
  map: (value: Value) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

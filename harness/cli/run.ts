/** `idemproof run [target.yaml]`: play the scenarios, judge, report. */
import { join, resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { invariants } from "../invariants/list.ts";
import { reportOf } from "../report.ts";
import { terminalReport } from "../reporters/terminal.ts";
import { run } from "../run.ts";
import { readTarget } from "../target-file.ts";
import { exitCodeOf, exitCodes } from "./exit.ts";
import { loadScenarios } from "./load-scenarios.ts";
import { packageRoot, version } from "./package.ts";
import { progressOn } from "./progress.ts";

interface Options {
  readonly seed?: number;
  readonly only?: string[];
  readonly quick?: boolean;
  readonly rounds?: number;
  readonly concurrency?: number;
  readonly reportDir: string;
  readonly timeout: number;
}

export function runCommand(): Command {
  return new Command("run")
    .description("play the scenarios against a target, judge what happened, write the reports")
    .argument("[target]", "target.yaml, or a folder with one", join(packageRoot, "targets", "reference"))
    .option("--seed <number>", "plans come from it; default: a new one, which the report names", wholeNumber)
    .option("--only <scenario...>", "play these scenarios only")
    .option("--quick", "fewer rounds")
    .option("--rounds <number>", "how often a race is repeated (50; 10 with --quick)", positive)
    .option("--concurrency <number>", "the largest burst (50)", positive)
    .option("--report-dir <path>", "where the reports go", "reports/latest")
    .option("--timeout <ms>", "how long an answer is waited for", positive, 10_000)
    .action(async (path: string, options: Options) => {
      process.exitCode = await runOnce(path, options);
    });
}

async function runOnce(path: string, options: Options): Promise<number> {
  const target = await readTarget(path);
  const scenarios = await loadScenarios(options.only);
  const progress = progressOn(process.stderr);
  const interruption = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => interruption.abort());
  const judgement = await run(target, scenarios, invariants, {
    size: {
      seed: options.seed ?? Math.floor(Math.random() * 2 ** 31),
      rounds: options.rounds ?? (options.quick ? 10 : 50),
      samples: options.quick ? 2 : 5,
      concurrency: options.concurrency ?? 50,
    },
    timeoutMs: options.timeout,
    directory: resolve(options.reportDir),
    version,
    command: `idemproof run ${path}`,
    signal: interruption.signal,
    progress,
  });
  progress.end();
  const report = reportOf(judgement);
  process.stdout.write(terminalReport(report, { color: process.stdout.isTTY, callerHeaders: {} }));
  return interruption.signal.aborted ? exitCodes.interrupted : exitCodeOf(judgement.result);
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError("expected a whole number, 0 or more");
  return value;
}

function positive(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError("expected a whole number, 1 or more");
  return value;
}

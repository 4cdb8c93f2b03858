/** `idemproof run [target.yaml]`: play the scenarios, judge, report. */
import { relative, resolve } from "node:path";
import { Command } from "commander";
import { invariants } from "../invariants/list.ts";
import { ReportDirectory } from "../report-directory.ts";
import { run } from "../run.ts";
import { printReport, writeReports } from "./deliver.ts";
import type { DirectOptions } from "./direct-target.ts";
import { exitCodeOf, exitCodes } from "./exit.ts";
import { checkHosts } from "./hosts.ts";
import { interruption } from "./interruption.ts";
import { addLabOptions, backendsOf, type LabChoices, labArguments } from "./lab-options.ts";
import {
  addSizeOptions,
  collect,
  ownCommand,
  type SizeOptions,
  several,
  shellWord,
  sizeArguments,
  sizeOf,
  upTo,
} from "./options.ts";
import { version } from "./package.ts";
import { progressOn } from "./progress.ts";
import { recipeOf } from "./recipe.ts";
import { loadScenarios } from "./scenarios.ts";
import { sourceArguments, sourceOf, targetNamed } from "./target-source.ts";

interface Options extends SizeOptions, LabChoices, DirectOptions {
  readonly only?: readonly string[];
  readonly json?: boolean;
  readonly reportDir: string;
  readonly timeout: number;
  readonly allowHost?: readonly string[];
}

export function runCommand(): Command {
  const command = new Command("run")
    .description("play the scenarios against a target, judge what happened, write the reports")
    .argument("[target]", "a target file, or a folder with a target.yaml (default: the reference target)");
  return addLabOptions(addSizeOptions(command))
    .option("--only <scenario>", "play only these scenarios (repeatable, or separated by commas)", several)
    .option("--report-dir <path>", "where the history and the reports go", "reports/latest")
    .option("--timeout <ms>", "how long an answer is waited for", upTo(600_000), 10_000)
    .option("--json", "print report.json instead of the report for people")
    .option("--allow-host <host>", "a host outside this machine that may be tested (repeatable)", several)
    .option("--url <url>", "a running target without a file; repeatable, one for each replica", several)
    .option("--request <line>", "with --url: method and path, such as 'POST /orders'")
    .option("--body <text>", "with --url: the body, or @file")
    .option("--header <line>", "with --url: a header of the caller, 'name: value' (repeatable)", collect)
    .option("--success <status>", "with --url: statuses that acknowledge (default: 200,201,202)", several)
    .option(
      "--outcome <pointer>",
      "with --url: fields that must be fingerprinted, such as /amount (repeatable)",
      several,
    )
    .option("--contract <id>", "with --url: the contract to hold it to (default: strict)")
    .action(async (path: string | undefined, options: Options) => {
      process.exitCode = await runOnce(path, options);
    });
}

async function runOnce(path: string | undefined, options: Options): Promise<number> {
  const target = await targetNamed(path, options);
  checkHosts(target.file, options.allowHost ?? []);
  const scenarios = await loadScenarios(options.only);
  const progress = progressOn(process.stderr);
  const signal = interruption();
  const directory = resolve(options.reportDir);
  await using _ = await ReportDirectory.claim(directory);
  const size = sizeOf(options, options.only === undefined);
  const source = sourceOf(target, path, options);
  const judgement = await run(target, scenarios, invariants, {
    size,
    backends: backendsOf(options),
    timeoutMs: options.timeout,
    directory,
    version,
    command: [
      ownCommand(),
      ...[...sourceArguments(source), ...sizeArguments(options), ...labArguments(options)].map(shellWord),
    ].join(" "),
    recipe: recipeOf(target, source, { size, timeoutMs: options.timeout, directory }),
    signal,
    progress,
  }).finally(progress.end);
  const report = await writeReports(judgement, directory);
  printReport(report, judgement, options.json === true);
  if (!options.json) process.stdout.write(`reports in ${relative(process.cwd(), directory) || "."}\n`);
  return signal.aborted ? exitCodes.interrupted : exitCodeOf(judgement.result);
}

/** `idemproof bench [target.yaml …]`: what the key layer costs, as a paired experiment under load. */
import { randomInt } from "node:crypto";
import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { bench } from "../bench/bench.ts";
import { type BenchReport, benchSchema } from "../bench/bench-report.ts";
import { PACES, type Pace } from "../bench/schedule.ts";
import type { Volume } from "../bench/storage-report.ts";
import { thresholdOf } from "../bench/threshold.ts";
import { Failure, messageOf } from "../fail.ts";
import { invariants } from "../invariants/list.ts";
import { ReportDirectory } from "../report-directory.ts";
import { benchMarkdown } from "../reporters/bench-markdown.ts";
import { differencesPlot, percentilesPlot } from "../reporters/bench-plots.ts";
import { benchTerminal } from "../reporters/bench-terminal.ts";
import { storagePlot } from "../reporters/storage-plot.ts";
import { exitCodes } from "./exit.ts";
import { checkHosts } from "./hosts.ts";
import { interruption } from "./interruption.ts";
import { addDatabaseOption, backendsOf, type LabChoices, labArguments } from "./lab-options.ts";
import { collect, ownCommand, SEED_MAX, several, shellWord, upTo } from "./options.ts";
import { version } from "./package.ts";
import { progressOn } from "./progress.ts";
import { targetNamed } from "./target-source.ts";
import { retentionOf, volumeOf } from "./volume.ts";

interface Options extends LabChoices {
  readonly rate: number;
  readonly duration: number;
  readonly pace: Pace;
  readonly seed?: number;
  readonly volume?: number;
  readonly retention?: number;
  readonly expired?: number;
  readonly operation?: string;
  readonly aa?: boolean;
  readonly threshold?: readonly string[];
  readonly lateness: number;
  readonly reportDir: string;
  readonly timeout: number;
  readonly json?: boolean;
  readonly allowHost?: readonly string[];
}

/** What two cores carry beside a target and its database, with room to spare. */
const RATE = 150;
const SECONDS = 60;
const LATE_MS = 5;
/** What storage is projected to where nobody says what theirs is. */
const VOLUME_PER_DAY = 1_000_000;
const RETENTION_DAYS = 1;
/** Some gigabytes. */
const EXPIRED_MAX = 10_000_000;

export function benchCommand(): Command {
  const command = new Command("bench")
    .description("measure what the key layer costs: without keys, first use, replay, conflict and mismatch in one run")
    .argument("[targets...]", "target files, measured side by side (default: the reference target)")
    .option("--rate <number>", "requests in a second, of all targets together", upTo(100_000), RATE)
    .option("--duration <seconds>", "how long the load lasts", seconds, SECONDS)
    .addOption(new Option("--pace <gaps>", "gaps between starts").choices(PACES).default("exponential"))
    .option("--seed <number>", "order and gaps come from it (default: a new one)", upTo(SEED_MAX, 0))
    .option("--volume <number/time>", "operations that storage is projected to (default: 1000000/day)", volumeOf)
    .option("--retention <time>", "how long their keys are kept (default: 24h)", retentionOf)
    .option(
      "--expired <number>",
      "put so many records there that expire, and measure while they are cleaned up",
      upTo(EXPIRED_MAX),
    )
    .option("--operation <name>", "the operation to measure (default: the first one of each target file)")
    .option("--aa", "measure what the others are compared with twice: the difference must be none")
    .option("--threshold <limit>", "such as 'first-use.p99.difference < 5ms' (repeatable)", collect)
    .option("--lateness <ms>", "how late one start in a hundred of the generator may be", upTo(600_000), LATE_MS)
    .option("--report-dir <path>", "where the histories and the reports go", "reports/latest/bench")
    .option("--timeout <ms>", "how long an answer is waited for", upTo(600_000), 10_000)
    .option("--json", "print bench.json instead of the report for people")
    .option("--allow-host <host>", "a host outside this machine that may be put under load (repeatable)", several);
  return addDatabaseOption(command).action(async (paths: readonly string[], options: Options) => {
    process.exitCode = await benchOnce(paths, options);
  });
}

async function benchOnce(paths: readonly string[], options: Options): Promise<number> {
  const thresholds = (options.threshold ?? []).map(thresholdOf);
  const targets = await Promise.all((paths.length > 0 ? paths : [undefined]).map((path) => targetNamed(path, {})));
  for (const { file } of targets) checkHosts(file, options.allowHost ?? []);
  const progress = progressOn(process.stderr);
  const signal = interruption();
  const directory = resolve(options.reportDir);
  await using _ = await ReportDirectory.claim(directory);
  const seed = options.seed ?? randomInt(SEED_MAX);
  const report = await bench(targets, invariants, {
    load: { rate: options.rate, durationMs: options.duration * 1000, pace: options.pace, seed },
    volume: volumeIn(options),
    expired: options.expired ?? null,
    choices: { operation: options.operation, again: options.aa === true },
    thresholds,
    lateMicrosMax: options.lateness * 1000,
    backends: backendsOf(options),
    timeoutMs: options.timeout,
    directory,
    version,
    command: [ownCommand("bench"), ...argumentsOf(paths, { ...options, seed }).map(shellWord)].join(" "),
    signal,
    progress,
  }).finally(progress.end);
  await writeBench(report, directory);
  if (options.json) process.stdout.write(jsonOf(report));
  else {
    const color = process.stdout.isTTY === true && !process.env["NO_COLOR"];
    process.stdout.write(benchTerminal(report, color));
    process.stdout.write(`reports in ${relative(process.cwd(), directory) || "."}\n`);
  }
  return signal.aborted ? exitCodes.interrupted : exitCodeOfBench(report.result);
}

function volumeIn({ volume, retention }: Options): Volume {
  return {
    perDay: volume ?? VOLUME_PER_DAY,
    retentionDays: retention ?? RETENTION_DAYS,
    isAssumed: volume === undefined && retention === undefined,
  };
}

function exitCodeOfBench(result: BenchReport["result"]): number {
  switch (result) {
    case "pass":
      return exitCodes.pass;
    case "fail":
      return exitCodes.violated;
    case "inconclusive":
      return exitCodes.inconclusive;
    case "missed":
      return exitCodes.missed;
  }
}

async function writeBench(report: BenchReport, directory: string): Promise<void> {
  const markdown = benchMarkdown(report);
  const files = {
    "bench.json": jsonOf(report),
    "bench.md": markdown,
    "percentiles.svg": percentilesPlot(report),
    "differences.svg": differencesPlot(report),
    "storage.svg": storagePlot(report),
  };
  try {
    await mkdir(directory, { recursive: true });
    await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(directory, name), text)));
  } catch (error) {
    throw new Failure("usage", `the reports cannot be written to ${directory} (${messageOf(error)})`, { cause: error });
  }
  const summary = process.env["GITHUB_STEP_SUMMARY"];
  if (summary) await appendFile(summary, markdown);
}

function jsonOf(report: BenchReport): string {
  return `${JSON.stringify(benchSchema.parse(report), null, 2)}\n`;
}

/** The command line again, with the seed. */
function argumentsOf(paths: readonly string[], options: Options): readonly string[] {
  return [
    ...paths,
    ...["--rate", String(options.rate), "--duration", String(options.duration), "--pace", options.pace],
    ...["--seed", String(options.seed)],
    ...(options.volume === undefined ? [] : ["--volume", `${options.volume}/day`]),
    ...(options.retention === undefined ? [] : ["--retention", `${options.retention}d`]),
    ...(options.expired === undefined ? [] : ["--expired", String(options.expired)]),
    ...(options.operation === undefined ? [] : ["--operation", options.operation]),
    ...(options.aa ? ["--aa"] : []),
    ...(options.threshold ?? []).flatMap((text) => ["--threshold", text]),
    ...(options.lateness === LATE_MS ? [] : ["--lateness", String(options.lateness)]),
    ...labArguments(options),
  ];
}

/** An hour is a soak test, and its history would not fit into memory. */
const SECONDS_MAX = 3_600;

function seconds(text: string): number {
  const value = Number(text.replace(/s$/, ""));
  if (!(value > 0 && value <= SECONDS_MAX)) {
    throw new InvalidArgumentError(`Expected a number of seconds up to ${SECONDS_MAX}.`);
  }
  return value;
}

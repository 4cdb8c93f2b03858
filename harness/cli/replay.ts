/** `idemproof replay <report.json> <violation id>`: plays the one scenario again and again, and counts. */
import { relative, resolve } from "node:path";
import { Command } from "commander";
import { Failure } from "../fail.ts";
import { invariants } from "../invariants/list.ts";
import type { Judgement } from "../judge.ts";
import type { Recipe } from "../recipe.ts";
import { countOf, type Repeat, repeatIn, replayVerdict } from "../replay.ts";
import type { Report, ReportedViolation } from "../report.ts";
import { ReportDirectory } from "../report-directory.ts";
import { type Progress, run } from "../run.ts";
import type { Scenario } from "../scenario.ts";
import type { Target } from "../target.ts";
import { writeReports } from "./deliver.ts";
import { exitCodeOf, exitCodes } from "./exit.ts";
import { checkHosts } from "./hosts.ts";
import { interruption } from "./interruption.ts";
import { addLabOptions, backendsOf, type LabChoices } from "./lab-options.ts";
import { collect, several, upTo } from "./options.ts";
import { version } from "./package.ts";
import { progressOn } from "./progress.ts";
import { recipeOf } from "./recipe.ts";
import { readReport, violationIn } from "./report-file.ts";
import { loadScenarios } from "./scenarios.ts";
import { type GivenAgain, targetAgain } from "./target-source.ts";

/** Each may start a database and a target anew. */
const TIMES_MAX = 1_000;

interface Options extends GivenAgain, LabChoices {
  readonly times: number;
  readonly json?: boolean;
  readonly reportDir: string;
  readonly allowHost?: readonly string[];
}

export function replayCommand(): Command {
  const command = new Command("replay")
    .description("play the scenario of one violation again, and say how often it fails again")
    .argument("<report>", "a report.json of an earlier run")
    .argument("<violation>", "the id of a violation in it, such as at-most-one-effect.1");
  return addLabOptions(command)
    .option("--times <number>", "how often", upTo(TIMES_MAX), 10)
    .option("--report-dir <path>", "a folder for each run's history and reports", "reports/latest/replay")
    .option("--json", "print JSON")
    .option("--allow-host <host>", "a host outside this machine that may be tested (repeatable)", several)
    .option("--header <line>", "for a run of --url: its headers again, 'name: value' (repeatable)", collect)
    .option("--url <url>", "for a run of --url: where the target is now (repeatable)", several)
    .option("--body <text>", "for a run of --url: its body again, where it held a secret")
    .action(async (path: string, id: string, options: Options) => {
      process.exitCode = await replayViolation(path, id, options);
    });
}

interface Replay {
  readonly report: Report;
  readonly recipe: Recipe;
  readonly violation: ReportedViolation;
  readonly scenario: Scenario;
  readonly target: Target;
}

async function replayViolation(path: string, id: string, options: Options): Promise<number> {
  const replay = await replayOf(path, id, options);
  const signal = interruption();
  await using _ = await ReportDirectory.claim(resolve(options.reportDir));
  if (!options.json) process.stdout.write(headOf(replay));
  const repeats: Repeat[] = [];
  while (repeats.length < options.times) {
    const judgement = await played(replay, repeats.length + 1, options, signal);
    if (judgement === null) break;
    const repeat = repeatIn(judgement, replay.violation);
    repeats.push(repeat);
    if (!options.json) process.stdout.write(`  ${repeats.length}/${options.times}  ${inWords(repeat)}\n`);
  }
  process.stdout.write(options.json ? asJson(replay, repeats) : tailOf(repeats, options));
  return signal.aborted ? exitCodes.interrupted : exitCodeOf(replayVerdict(repeats));
}

async function replayOf(path: string, id: string, options: Options): Promise<Replay> {
  const report = await readReport(path);
  const violation = violationIn(report, path, id);
  const { recipe } = report;
  if (recipe === null) {
    throw new Failure("usage", `${path}: the report does not say how its run is played again (it has no recipe)`);
  }
  const scenario = (await loadScenarios()).find((one) => one.id === violation.scenario);
  if (scenario === undefined || !invariants.some((invariant) => invariant.id === violation.invariant)) {
    const what = scenario === undefined ? `scenario ${violation.scenario}` : `invariant ${violation.invariant}`;
    throw new Failure("usage", `${path}: idemproof ${version} has no ${what}; the report is of ${report.version}`);
  }
  const { url, body, header } = options;
  const target = await targetAgain(recipe, {
    ...(url && { url }),
    ...(body !== undefined && { body }),
    ...(header && { header }),
  });
  checkHosts(target.file, options.allowHost ?? []);
  return { report, recipe, violation, scenario, target };
}

/** One more run, or null when it was interrupted: half of one shows nothing. */
async function played(
  { report, recipe, scenario, target }: Replay,
  number: number,
  options: Options,
  signal: AbortSignal,
): Promise<Judgement | null> {
  const directory = resolve(options.reportDir, String(number));
  const { source, size, timeoutMs } = recipe;
  const progress = progressOn(process.stderr);
  const ofRepeat = `repeat ${number} of ${options.times}: `;
  try {
    const judgement = await run(target, [scenario], invariants, {
      size,
      backends: backendsOf(options),
      timeoutMs,
      directory,
      version,
      command: report.command,
      recipe: recipeOf(target, source, { size, timeoutMs, directory }),
      signal,
      progress: prefixed(ofRepeat, progress),
    });
    await writeReports(judgement, directory);
    return signal.aborted ? null : judgement;
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  } finally {
    progress.end();
  }
}

function prefixed(words: string, { step, scenario }: Progress): Progress {
  return {
    step: (text) => step(words + text),
    scenario: (number, of, title) => scenario(number, of, words + title),
  };
}

function headOf({ report, recipe, violation, scenario }: Replay): string {
  const { seed, rounds, samples, concurrency } = recipe.size;
  const lines = [
    `replay of ${violation.id} of ${report.target}: ${violation.message}`,
    `each time the whole of the scenario ${scenario.id}, alone, as in the run: seed ${seed}, ${rounds} rounds, ${samples} samples, bursts up to ${concurrency}`,
    ...(report.version === version
      ? []
      : [`note: the report is of idemproof ${report.version}, this is ${version}: the plans may differ`]),
  ];
  return `${lines.join("\n")}\n`;
}

function inWords(repeat: Repeat): string {
  switch (repeat.result) {
    case "failed":
      return `failed again: ${repeat.because}`;
    case "held":
      return "held";
    case "inconclusive":
      return `inconclusive: ${repeat.because}`;
  }
}

function tailOf(repeats: readonly Repeat[], { times, reportDir }: Options): string {
  const inconclusive = countOf(repeats, "inconclusive");
  const lines = [
    `histories and reports in ${relative(process.cwd(), resolve(reportDir)) || "."}`,
    ...(repeats.length < times ? [`interrupted after ${repeats.length} of ${times}`] : []),
    ...(inconclusive > 0 ? [`${inconclusive} of ${repeats.length} inconclusive`] : []),
    `failed again in ${countOf(repeats, "failed")} of ${repeats.length}`,
  ];
  return `${lines.join("\n")}\n`;
}

function asJson({ report, recipe, violation }: Replay, repeats: readonly Repeat[]): string {
  const { id, invariant, scenario } = violation;
  const result = {
    violation: id,
    invariant,
    scenario,
    played: "scenario",
    target: report.target,
    seed: recipe.size.seed,
    verdict: replayVerdict(repeats),
    times: repeats.length,
    failed: countOf(repeats, "failed"),
    held: countOf(repeats, "held"),
    inconclusive: countOf(repeats, "inconclusive"),
    repeats,
  };
  return `${JSON.stringify(result, null, 2)}\n`;
}

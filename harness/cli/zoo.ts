/** `idemproof zoo`: proves that the harness can see. Every broken target must be caught, the reference never. */
import { join, relative, resolve } from "node:path";
import { Command } from "commander";
import { Failure } from "../fail.ts";
import { invariants } from "../invariants/list.ts";
import { ReportDirectory } from "../report-directory.ts";
import { run } from "../run.ts";
import type { Scenario } from "../scenario.ts";
import { readTarget } from "../target-file/target-file.ts";
import { type KillMatrix, killMatrix, type ZooResult, zooVerdict } from "../zoo.ts";
import { writeReports } from "./deliver.ts";
import { exitCodes } from "./exit.ts";
import { interruption } from "./interruption.ts";
import { addLabOptions, backendsOf, type LabChoices, labArguments } from "./lab-options.ts";
import { addSizeOptions, ownCommand, type SizeOptions, several, shellWord, sizeOf } from "./options.ts";
import { packageRoot, version } from "./package.ts";
import { progressOn } from "./progress.ts";
import { recipeOf } from "./recipe.ts";
import { loadScenarios } from "./scenarios.ts";
import { type ZooTarget, zooTargets } from "./targets.ts";

interface Options extends SizeOptions, LabChoices {
  readonly target?: readonly string[];
  readonly json?: boolean;
  readonly reportDir: string;
}

const REFERENCE = "reference";

export function zooCommand(): Command {
  const command = new Command("zoo").description("run the broken targets and print which invariants caught which");
  return addLabOptions(addSizeOptions(command))
    .option("--target <id>", "only these (repeatable, or separated by commas)", several)
    .option("--report-dir <path>", "a folder for each target's history and reports", "reports/latest/zoo")
    .option("--json", "print JSON")
    .action(async (options: Options) => {
      process.exitCode = await runZoo(options);
    });
}

async function runZoo(options: Options): Promise<number> {
  const zoo = await chosen(options.target);
  const scenarios = await loadScenarios();
  const signal = interruption();
  await using _ = await ReportDirectory.claim(resolve(options.reportDir));
  const results: ZooResult[] = [];
  for (const { id, declared, path, seenIn } of zoo) {
    if (signal.aborted) return exitCodes.interrupted;
    results.push({ id, declared, ...(await judged(id, path, chosenOf(scenarios, seenIn, options), options, signal)) });
  }
  if (signal.aborted) return exitCodes.interrupted;
  const [reference, ...targets] = results;
  if (reference === undefined) throw new Error("the reference is always run");
  const matrix = killMatrix(targets, reference);
  process.stdout.write(options.json ? `${JSON.stringify(matrix, null, 2)}\n` : asText(matrix));
  return zooVerdict(matrix) ? exitCodes.pass : exitCodes.violated;
}

/** A quick look at a broken target is one at the scenarios in which its defect shows. */
function chosenOf(all: readonly Scenario[], seenIn: readonly string[], { quick }: Options): readonly Scenario[] {
  return quick && seenIn.length > 0 ? all.filter(({ id }) => seenIn.includes(id)) : all;
}

/** The reference, which is always run, and the chosen targets of the zoo. */
async function chosen(
  ids: readonly string[] | undefined,
): Promise<readonly Pick<ZooTarget, "id" | "declared" | "path" | "seenIn">[]> {
  const zoo = await zooTargets();
  const known = [REFERENCE, ...zoo.map(({ id }) => id)];
  const unknown = (ids ?? []).filter((id) => !known.includes(id));
  if (unknown.length > 0) {
    throw new Failure("usage", `--target: found ${unknown.join(", ")}, expected targets out of ${known.join(", ")}`);
  }
  const reference = { id: REFERENCE, declared: [], seenIn: [], path: join(packageRoot, "targets", "reference") };
  return [reference, ...zoo.filter(({ id }) => ids === undefined || ids.includes(id))];
}

async function judged(
  id: string,
  path: string,
  scenarios: readonly Scenario[],
  options: Options,
  signal: AbortSignal,
): Promise<Pick<ZooResult, "violated" | "verdict" | "reasons">> {
  const directory = resolve(options.reportDir, id);
  const progress = progressOn(process.stderr);
  progress.step(`zoo: ${id}`);
  const target = await readTarget(path);
  const here = relative(process.cwd(), path);
  const size = sizeOf(options, id === REFERENCE);
  const timeoutMs = 10_000;
  const judgement = await run(target, scenarios, invariants, {
    size,
    backends: backendsOf(options),
    timeoutMs,
    directory,
    version,
    command: [ownCommand(), ...[here, ...labArguments(options)].map(shellWord)].join(" "),
    recipe: recipeOf(target, { kind: "file", path: here }, { size, timeoutMs, directory }),
    signal,
    progress,
  }).finally(progress.end);
  await writeReports(judgement, directory);
  return {
    violated: judgement.invariants.filter(({ result }) => result === "fail").map(({ invariant }) => invariant.id),
    verdict: judgement.result,
    reasons: [
      ...judgement.reasons,
      ...judgement.scenarios.flatMap(({ result, reasons }) => (result === "inconclusive" ? reasons : [])),
    ],
  };
}

function asText({ targets, reference }: KillMatrix): string {
  const width = Math.max(REFERENCE.length, ...targets.map(({ id }) => id.length));
  const rows = targets.flatMap(({ id, caught, violated, missed, undeclared }) => [
    `${caught ? "✓" : "✗"} ${id.padEnd(width)}  ${violated.join(", ") || "nothing was violated"}`,
    ...(missed.length > 0 ? [`  ${"".padEnd(width)}  not caught by ${missed.join(", ")}`] : []),
    ...(undeclared.length > 0 ? [`  ${"".padEnd(width)}  caught by the undeclared ${undeclared.join(", ")}`] : []),
  ]);
  const accused = reference.accused
    ? `✗ ${REFERENCE.padEnd(width)}  accused by ${reference.violated.join(", ")}`
    : `${reference.verdict === "pass" ? "✓" : "?"} ${REFERENCE.padEnd(width)}  not accused${reference.verdict === "pass" ? "" : `, but ${reference.verdict}: ${reference.reasons.join("; ")}`}`;
  const count = targets.filter(({ caught }) => caught).length;
  return `${[...rows, accused, `${count} of ${targets.length} caught`].join("\n")}\n`;
}

/** bench.md: the figures with what they were measured on and by which command, and the plots beside it. */
import type { BenchReport, BenchTarget } from "../bench/bench-report.ts";
import {
  absoluteText,
  againText,
  asideText,
  COST_NAMES,
  costsIn,
  costText,
  countedIn,
  countOf,
  differenceText,
  generatorText,
  loadText,
  machineText,
  measuredIn,
  millis,
  NOTHING,
  ratioText,
  SHOWN_QUANTILES,
} from "./bench-words.ts";
import { CLEANUP_HEAD, cleanupRows, cleanupText } from "./cleanup-words.ts";
import {
  PROJECTION_HEAD,
  projectionRows,
  recordText,
  SIZE_HEAD,
  sizeRows,
  storageRemarks,
  volumeText,
} from "./storage-words.ts";

const MARKS = { met: "✓", missed: "✗", unknown: "?" };

export function benchMarkdown(report: BenchReport): string {
  const lines = [
    `# What idempotency keys cost: ${report.targets.map(({ target }) => target).join(", ")}`,
    "",
    `**${report.result}**, ${report.startedAt}, idemproof ${report.version}`,
    "",
    ...report.reasons.map((reason) => `- because ${cell(reason)}`),
    ...(report.reasons.length > 0 ? [""] : []),
    `- load: ${loadText(report)}`,
    `- generator: ${generatorText(report)}`,
    `- machine: ${cell(machineText(report))}`,
    "",
    "```sh",
    report.command,
    "```",
    "",
    "Milliseconds from the moment at which a request was meant to start to the end of its answer. Differences and",
    "ratios with 95 % intervals, by the bootstrap over blocks; a p99.9 takes 10,000 samples.",
    "",
    "![latency by percentile](percentiles.svg)",
    "",
    "![differences with their intervals](differences.svg)",
    "",
    "![storage over time](storage.svg)",
    "",
    ...report.targets.flatMap((target) => targetSection(target, report)),
    ...cleanup(report.targets),
    ...thresholds(report),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}

function targetSection(target: BenchTarget, { volume }: BenchReport): string[] {
  const classes = measuredIn(target.classes);
  return [
    `## ${target.target}`,
    "",
    `\`${target.operation}\`, contract ${cell(target.contract)}, ${countOf(target.attempts)} attempts judged: **${target.verdict}**. Compared with ${target.comparedWith}.`,
    "",
    ...target.violations.map(
      ({ invariant, count, message }) => `- ✗ \`${invariant}\`, ${count} violation(s): ${cell(message)}`,
    ),
    ...target.classes.flatMap(({ class: name, left }) =>
      left === null || name === "again" ? [] : [`- ${name} is not measured: ${cell(left)}`],
    ),
    ...classes.flatMap((one) => (asideText(one) === "" ? [] : [`- ${one.class}: ${asideText(one)}`])),
    ...(target.againHoldsZero === null ? [] : [`- ${againText(target.againHoldsZero)}`]),
    "",
    ...table(
      ["class", "samples", ...SHOWN_QUANTILES, "max"],
      classes.map((one) => [
        one.class,
        countOf(one.samples),
        ...SHOWN_QUANTILES.map((quantile) => absoluteText(one, quantile)),
        one.maxMicros === null ? NOTHING : millis(one.maxMicros),
      ]),
    ),
    ...table(
      [`more than ${target.comparedWith}`, "samples", ...SHOWN_QUANTILES],
      classes
        .filter(({ figures }) => figures.some(({ difference }) => difference !== null))
        .flatMap((one) => [
          [one.class, countOf(one.samples), ...SHOWN_QUANTILES.map((quantile) => differenceText(one, quantile))],
          ["", "", ...SHOWN_QUANTILES.map((quantile) => ratioText(one, quantile))],
        ]),
    ),
    ...costs(target),
    ...storageSection(target, volume),
  ];
}

function costs(target: BenchTarget): string[] {
  const counted = countedIn(target);
  const all = costsIn(target);
  return [
    ...(target.costsNote === null ? [] : [cell(target.costsNote), ""]),
    ...(counted.length === 0
      ? []
      : [
          `What one request costs, counted by its stores (in brackets: how much more than ${target.comparedWith}):`,
          "",
          ...table(
            ["class", ...all.map((cost) => COST_NAMES[cost])],
            counted.map((one) => [one.class, ...all.map((cost) => costText(one, cost))]),
          ),
        ]),
  ];
}

function storageSection({ storage, storageNote }: BenchTarget, volume: BenchReport["volume"]): string[] {
  if (storage === null) return [cell(storageNote ?? ""), ""];
  return [
    `### Storage: ${recordText(storage)}`,
    "",
    ...table(SIZE_HEAD, sizeRows(storage)),
    `${volumeText(volume)}:`,
    "",
    ...table(PROJECTION_HEAD, projectionRows(storage)),
    ...storageRemarks(storage).flatMap((remark) => [`- ${cell(remark)}`]),
    "",
  ];
}

function cleanup(targets: readonly BenchTarget[]): string[] {
  const words = targets.flatMap(({ target, cleanup: found, cleanupNote }) => {
    if (cleanupNote !== null) return [`- ${target}: ${cell(cleanupNote)}`];
    return found === null ? [] : [`- ${target}: ${cleanupText(found)}`];
  });
  return words.length === 0 ? [] : ["## Cleanup", "", ...words, "", ...table(CLEANUP_HEAD, cleanupRows(targets))];
}

function thresholds({ thresholds: all }: BenchReport): string[] {
  if (all.length === 0) return [];
  return [
    "## Thresholds",
    "",
    ...table(
      ["", "threshold", "target", ""],
      all.map(({ text, target, result, reason }) => [MARKS[result], `\`${text}\``, target, reason]),
    ),
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), line(head.map((_, column) => (column === 0 ? "---" : "--:"))), ...rows.map(line), ""];
}

/** Text that stays inside its cell and means nothing to Markdown. */
function cell(value: string): string {
  return value.replaceAll("|", "\\|").replaceAll("<", "&lt;").replace(/\s+/g, " ");
}

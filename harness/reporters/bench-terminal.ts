/** The bench for people at a terminal: each target's classes, all targets side by side, the result last. */
import pc from "picocolors";
import type { BenchReport, BenchTarget, ClassReport } from "../bench/bench-report.ts";
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

type Colors = ReturnType<typeof pc.createColors>;

export function benchTerminal(report: BenchReport, color: boolean): string {
  const colors = pc.createColors(color);
  const lines = [
    `${colors.bold("idemproof bench")}  ${loadText(report)}`,
    colors.dim(generatorText(report)),
    "",
    ...report.targets.flatMap((target) => targetLines(target, report, colors)),
    ...cleanupLines(report.targets, colors),
    ...(report.targets.length > 1 ? sideBySide(report.targets, colors) : []),
    ...thresholdLines(report, colors),
    ...summary(report, colors),
  ];
  return `${lines.join("\n")}\n`;
}

function targetLines(target: BenchTarget, { volume }: BenchReport, colors: Colors): string[] {
  const classes = measuredIn(target.classes);
  return [
    `${colors.bold(target.target)}  ${target.operation}; milliseconds from the intended start; differences and ratios to ${target.comparedWith} with 95 % intervals`,
    ...table([["class", "samples", ...SHOWN_QUANTILES, "max"], ...classes.flatMap((one) => classRows(one))]),
    ...classes.flatMap((one) => (asideText(one) === "" ? [] : [colors.yellow(`  ${one.class}: ${asideText(one)}`)])),
    ...target.classes.flatMap((one) =>
      one.left === null || one.class === "again" ? [] : [colors.dim(`  ${one.class} is not measured: ${one.left}`)],
    ),
    ...(target.againHoldsZero === null ? [] : [`  ${againText(target.againHoldsZero)}`]),
    "",
    ...costLines(target, colors),
    ...storageLines(target, volume, colors),
    ...violationLines(target, colors),
  ];
}

function classRows(one: ClassReport): string[][] {
  const row = (
    name: string,
    text: (one: ClassReport, quantile: (typeof SHOWN_QUANTILES)[number]) => string,
  ): string[][] =>
    one.figures.some(({ difference }) => difference !== null)
      ? [[`  ${name}`, "", ...SHOWN_QUANTILES.map((quantile) => text(one, quantile)), ""]]
      : [];
  const max = one.maxMicros === null ? NOTHING : millis(one.maxMicros);
  return [
    [one.class, countOf(one.samples), ...SHOWN_QUANTILES.map((quantile) => absoluteText(one, quantile)), max],
    ...row("difference", differenceText),
    ...row("ratio", ratioText),
  ];
}

function costLines(target: BenchTarget, colors: Colors): string[] {
  const counted = countedIn(target);
  const costs = costsIn(target);
  return [
    ...(target.costsNote === null ? [] : [colors.yellow(target.costsNote)]),
    ...(counted.length === 0
      ? []
      : [
          colors.dim(`what one request costs, counted by its stores (and how much more than ${target.comparedWith})`),
          ...table([
            ["class", ...costs.map((cost) => COST_NAMES[cost])],
            ...counted.map((one) => [one.class, ...costs.map((cost) => costText(one, cost))]),
          ]),
        ]),
    "",
  ];
}

function storageLines({ storage, storageNote }: BenchTarget, volume: BenchReport["volume"], colors: Colors): string[] {
  if (storage === null) return [colors.yellow(storageNote ?? ""), ""];
  return [
    colors.dim(recordText(storage)),
    ...table([SIZE_HEAD, ...sizeRows(storage)]),
    colors.dim(volumeText(volume)),
    ...table([PROJECTION_HEAD, ...projectionRows(storage)]),
    ...storageRemarks(storage).map((remark) => `  ${remark}`),
    "",
  ];
}

function cleanupLines(targets: readonly BenchTarget[], colors: Colors): string[] {
  const rows = cleanupRows(targets);
  const words = targets.flatMap(({ target, cleanup, cleanupNote }) => {
    if (cleanupNote !== null) return [colors.yellow(`${target}: ${cleanupNote}`)];
    return cleanup === null ? [] : [`${target}: ${cleanupText(cleanup)}`];
  });
  if (words.length === 0) return [];
  return [colors.bold("Cleanup"), ...words, ...(rows.length === 0 ? [] : table([CLEANUP_HEAD, ...rows])), ""];
}

function violationLines({ violations, history }: BenchTarget, colors: Colors): string[] {
  if (violations.length === 0) return [];
  return [
    ...violations.flatMap(({ invariant, count, message }) => [
      colors.red(`✗ ${invariant}  ${count} violation(s)`),
      `    ${message}`,
    ]),
    colors.dim(`  more: idemproof check on ${history} of the report directory`),
    "",
  ];
}

/** The same figures of all targets in one row. */
function sideBySide(targets: readonly BenchTarget[], colors: Colors): string[] {
  const names = [...new Set(targets.flatMap(({ classes }) => measuredIn(classes).map((one) => one.class)))];
  const rows = names.flatMap((name) => {
    const cells = (text: (one: ClassReport) => string): string[] =>
      targets.map(({ classes }) => {
        const found = measuredIn(classes).find((one) => one.class === name);
        return found === undefined ? NOTHING : text(found);
      });
    return [
      [`${name} p50`, ...cells((one) => absoluteText(one, "p50"))],
      ["  difference", ...cells((one) => differenceText(one, "p50"))],
      [`${name} p99`, ...cells((one) => absoluteText(one, "p99"))],
      ["  difference", ...cells((one) => differenceText(one, "p99"))],
      ["  statements", ...cells((one) => costText(one, "statements"))],
      ["  commits", ...cells((one) => costText(one, "commits"))],
    ].filter((row) => row.slice(1).some((cell) => cell !== NOTHING));
  });
  return [colors.bold("Side by side"), ...table([["", ...targets.map(({ target }) => target)], ...rows]), ""];
}

function thresholdLines({ thresholds }: BenchReport, colors: Colors): string[] {
  const marks = { met: colors.green("✓"), missed: colors.red("✗"), unknown: colors.yellow("?") };
  const lines = thresholds.map(
    ({ text, target, result, reason }) => `  ${marks[result]} ${text}  ${target}: ${reason}`,
  );
  return lines.length === 0 ? [] : [colors.bold("Thresholds"), ...lines, ""];
}

function summary({ result, reasons, targets, durationMs }: BenchReport, colors: Colors): string[] {
  const paint = { pass: colors.green, fail: colors.red, inconclusive: colors.yellow, missed: colors.red }[result];
  const attempts = targets.reduce((sum, target) => sum + target.attempts, 0);
  return [
    ...reasons.map((reason) => colors.yellow(`because ${reason}`)),
    `${paint(colors.bold(result.toUpperCase()))}  ${countOf(attempts)} attempts recorded and judged in ${(durationMs / 1000).toFixed(1)} s`,
  ];
}

/** First column to the left, the others to the right. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

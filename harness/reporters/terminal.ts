/** The report for people at a terminal: what failed first and in full, the summary last. */
import pc from "picocolors";
import { variableOf } from "../curl.ts";
import type { Report, ReportedViolation } from "../report.ts";
import { countsText, knownText } from "./reconciled-keys.ts";

type Colors = ReturnType<typeof pc.createColors>;
type Verdict = Report["verdict"];

const MARKS: Record<Verdict, string> = { pass: "✓", fail: "✗", inconclusive: "?", skip: "–" };
/** In the terminal; the other reports list more. */
const VIOLATIONS_SHOWN_MAX = 3;
const UNRESOLVED_SHOWN_MAX = 10;
/** A reason of up to so many characters is said as often as it applies. */
const REPEATED_CHARACTERS_MAX = 80;

export interface TerminalOptions {
  readonly color: boolean;
  /** Header names of each caller, to say what the curl lines need. */
  readonly callerHeaders: Readonly<Record<string, readonly string[]>>;
}

export function terminalReport(report: Report, options: TerminalOptions): string {
  const colors = pc.createColors(options.color);
  const lines = [
    ...head(report, colors),
    ...scenarios(report, colors),
    ...invariants(report, colors),
    ...failures(report, options, colors),
    ...keys(report, colors),
    ...summary(report, colors),
  ];
  return `${lines.join("\n")}\n`;
}

function head(report: Report, colors: Colors): string[] {
  const { target, contract, seed, race, books, notes } = report;
  const lines = [`${colors.bold(`idemproof ${target}`)}  contract ${contract}, seed ${seed}`];
  if (!books.effects) {
    lines.push(
      colors.yellow("no books: what really took effect was not looked at, and the effect invariants are skipped"),
    );
  }
  if (race) lines.push(raceLine(race));
  for (const note of notes) lines.push(colors.yellow(`note: ${note}`));
  return [...lines, ""];
}

function raceLine(race: NonNullable<Report["race"]>): string {
  const spread =
    race.medianArrivalSpreadMicros === null
      ? `release within ${race.medianReleaseSpreadMicros} µs`
      : `arrival within ${race.medianArrivalSpreadMicros} µs`;
  const window =
    race.windowFoundMicros === null
      ? ""
      : `; a race window of ${race.windowFoundMicros} µs is found with 95 % probability`;
  return `${race.bursts} bursts, ${race.overlapped} overlapped, ${spread}, ${race.medianInFlight} in flight (medians)${window}`;
}

function scenarios(report: Report, colors: Colors): string[] {
  const saidIn = new Map<string, string>();
  const lines = report.scenarios.map(({ id, verdict, attempts, reasons, failed }) => {
    const why =
      verdict === "fail"
        ? failed.join(", ")
        : verdict === "pass"
          ? `${attempts} attempts`
          : saidOnce(reasons[0] ?? "", id, saidIn);
    return `  ${mark(verdict, colors)} ${id.padEnd(width(report.scenarios))}  ${colors.dim(why)}`;
  });
  return [colors.bold("Scenarios"), ...lines, ""];
}

/** A long reason is read once: what is missing for one scenario is often missing for many. */
function saidOnce(reason: string, id: string, saidIn: Map<string, string>): string {
  const first = saidIn.get(reason);
  if (first === undefined) saidIn.set(reason, id);
  return first === undefined || reason.length <= REPEATED_CHARACTERS_MAX ? reason : `as ${first}`;
}

function invariants(report: Report, colors: Colors): string[] {
  const lines = report.invariants.map(({ id, verdict, level, checked, violationCount, reasons }) => {
    const why =
      verdict === "fail"
        ? `${violationCount} violation(s) in ${checked} checked${level === "must" ? "" : ` (a ${level}: reported, does not fail the run)`}`
        : verdict === "pass"
          ? `${checked} checked`
          : (reasons[0] ?? "");
    return `  ${mark(verdict, colors)} ${id.padEnd(width(report.invariants))}  ${colors.dim(why)}`;
  });
  return [colors.bold("Invariants"), ...lines, ""];
}

function failures(report: Report, { callerHeaders }: TerminalOptions, colors: Colors): string[] {
  const failed = report.invariants.filter(({ verdict }) => verdict === "fail");
  if (failed.length === 0) return [];
  const lines = failed.flatMap(({ id, statement, violations, violationCount }) => [
    `${colors.red(`${MARKS.fail} ${id}`)}  ${statement}`,
    ...violations.slice(0, VIOLATIONS_SHOWN_MAX).flatMap((violation) => failure(violation, colors)),
    ...(violationCount > VIOLATIONS_SHOWN_MAX ? [`    and ${violationCount - VIOLATIONS_SHOWN_MAX} more`] : []),
    "",
  ]);
  const variables = Object.entries(callerHeaders).flatMap(([caller, names]) =>
    names.map((name) => variableOf(caller, name)),
  );
  if (variables.length > 0) {
    lines.push(colors.dim(`The curl lines take callers' secrets from the environment: ${variables.join(", ")}`), "");
  }
  return lines;
}

function failure(violation: ReportedViolation, colors: Colors): string[] {
  return [
    `  in ${violation.scenario}${violation.requirement === "" ? "" : `: ${violation.requirement}`}`,
    `    ${violation.message}`,
    `    expected  ${violation.expected}`,
    `    actual    ${violation.actual}`,
    ...(violation.key === null ? [] : [`    key       ${violation.key}`]),
    ...violation.witnesses.map(
      ({ id, request, invokedAt, completedAt, outcome }) =>
        `    ${colors.dim(`${seconds(invokedAt)} to ${completedAt === null ? "?" : seconds(completedAt)}`)}  ${id}  ${request}  ${outcome}`,
    ),
    ...violation.witnesses.slice(0, 2).map(({ curl }) => `    ${curl}`),
    `    again     ${violation.repeat}`,
    ...(violation.replay === "" ? [] : [`    replay    ${violation.replay}`]),
  ];
}

function keys({ reconciliation }: Report, colors: Colors): string[] {
  const { unresolved, counts } = reconciliation;
  const shown = unresolved.slice(0, UNRESOLVED_SHOWN_MAX);
  const more = counts["unresolved-unknown"] - shown.length;
  return [
    `keys: ${countsText(reconciliation)}`,
    ...shown.map(
      (one) =>
        `  ${colors.yellow(`${MARKS.inconclusive} ${one.reference}`)} in ${one.scenario}, key ${one.key ?? "none"}: ${knownText(one)}`,
    ),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

function summary(report: Report, colors: Colors): string[] {
  const count = (verdict: Verdict): number =>
    report.invariants.filter((invariant) => invariant.verdict === verdict).length;
  const counts = `${count("pass")} invariants hold, ${count("fail")} violated, ${count("inconclusive")} inconclusive, ${count("skip")} skipped`;
  const open = report.scenarios.filter((scenario) => scenario.verdict === "inconclusive").length;
  const openText = open === 0 ? "" : `; ${open} of ${report.scenarios.length} scenarios inconclusive`;
  const verdict = report.verdict.toUpperCase();
  return [
    ...report.reasons.map((reason) => colors.yellow(`because ${reason}`)),
    `${paint(report.verdict, colors)(colors.bold(verdict))}  ${counts}${openText}; ${report.attempts} attempts in ${(report.durationMs / 1000).toFixed(1)} s`,
  ];
}

function mark(verdict: Verdict, colors: Colors): string {
  return paint(verdict, colors)(MARKS[verdict]);
}

function paint(verdict: Verdict, colors: Colors): (text: string) => string {
  return { pass: colors.green, fail: colors.red, inconclusive: colors.yellow, skip: colors.dim }[verdict];
}

function seconds(micros: number): string {
  return `${(micros / 1_000_000).toFixed(4)} s`;
}

function width(rows: readonly { readonly id: string }[]): number {
  return Math.max(0, ...rows.map(({ id }) => id.length));
}

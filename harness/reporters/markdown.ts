/** The report for pull requests and job summaries. */
import type { Report, ReportedViolation } from "../report.ts";
import { countsText, knownText } from "./reconciled-keys.ts";

const MARKS: Record<Report["verdict"], string> = { pass: "✅", fail: "❌", inconclusive: "❔", skip: "➖" };

export function markdownReport(report: Report): string {
  const lines = [
    `# ${MARKS[report.verdict]} ${report.target}: ${report.verdict}`,
    "",
    `Contract ${report.contract}, seed ${report.seed}, ${report.attempts} attempts in ${(report.durationMs / 1000).toFixed(1)} s, idemproof ${report.version}, ${report.startedAt}.`,
    "",
    ...(report.books.effects ? [] : ["**No books**: what really took effect was not looked at.", ""]),
    ...report.reasons.map((reason) => `- because ${cell(reason)}`),
    ...openScenarios(report),
    ...report.notes.map((note) => `- note: ${cell(note)}`),
    "",
    ...race(report.race),
    ...keys(report.reconciliation),
    "| Invariant | Verdict | Checked | |",
    "| --- | --- | ---: | --- |",
    ...report.invariants.map(
      ({ id, verdict, checked, level, ...rest }) =>
        `| \`${id}\` | ${MARKS[verdict]} ${verdict}${level === "must" ? "" : ` (${level})`} | ${checked} | ${cell(wordsOn(verdict, rest))} |`,
    ),
    "",
    "| Scenario | Verdict | Attempts | |",
    "| --- | --- | ---: | --- |",
    ...report.scenarios.map(
      ({ id, title, verdict, attempts, reasons, failed }) =>
        `| \`${id}\` | ${MARKS[verdict]} ${verdict} | ${attempts} | ${cell(failed.join(", ") || reasons[0] || title)} |`,
    ),
    "",
    ...failures(report),
  ];
  return `${lines.join("\n")}\n`;
}

/** They make a run inconclusive though every invariant may have held. */
function openScenarios({ scenarios }: Report): string[] {
  const open = scenarios.filter(({ verdict }) => verdict === "inconclusive");
  if (open.length === 0) return [];
  return [
    `- ${open.length} of ${scenarios.length} scenarios inconclusive: ${open.map(({ id }) => `\`${id}\``).join(", ")}`,
  ];
}

/** A reason is why there is no verdict; an invariant that held may have one from a scenario that gave it nothing to see. */
function wordsOn(
  verdict: Report["verdict"],
  {
    statement,
    violationCount,
    reasons,
  }: Pick<Report["invariants"][number], "statement" | "violationCount" | "reasons">,
): string {
  if (verdict === "fail") return `${violationCount} violation(s). ${statement}`;
  return verdict === "pass" ? statement : (reasons[0] ?? statement);
}

function race(found: Report["race"]): string[] {
  if (found === null) return [];
  const arrival =
    found.medianArrivalSpreadMicros === null ? "" : `, arrived within ${found.medianArrivalSpreadMicros} µs`;
  return [
    `${found.bursts} bursts, ${found.overlapped} of them overlapped; medians: released within ${found.medianReleaseSpreadMicros} µs${arrival}, ${found.medianInFlight} in flight.`,
    "",
  ];
}

function keys(found: Report["reconciliation"]): string[] {
  const unresolved = found.unresolved.map(
    (one) =>
      `- unresolved: \`${one.reference}\` in \`${one.scenario}\`, key ${one.key === null ? "none" : `\`${one.key}\``}: ${cell(knownText(one))}`,
  );
  return [`Keys: ${cell(countsText(found))}.`, "", ...(unresolved.length > 0 ? [...unresolved, ""] : [])];
}

function failures({ invariants }: Report): string[] {
  return invariants
    .filter(({ verdict }) => verdict === "fail")
    .flatMap(({ id, statement, violations, violationCount }) => [
      `## ${MARKS.fail} ${id}`,
      "",
      `${statement}. ${violationCount} violation(s); the first ${violations.length}:`,
      "",
      ...violations.flatMap(failure),
    ]);
}

function failure(violation: ReportedViolation): string[] {
  const curls = violation.witnesses.map(({ id, outcome, curl }) => `# ${id}: ${outcome}\n${curl}`);
  return [
    `- \`${violation.id}\` **${cell(violation.message)}** (in \`${violation.scenario}\`: ${cell(violation.requirement)})`,
    `  - expected: ${cell(violation.expected)}`,
    `  - actual: ${cell(violation.actual)}`,
    "",
    "  ```sh",
    ...[...curls, ...commands(violation)].flatMap((line) => line.split("\n").map((part) => `  ${part}`)),
    "  ```",
    "",
  ];
}

function commands({ repeat, replay }: ReportedViolation): string[] {
  return ["# again", repeat, ...(replay === "" ? [] : ["# again and again, and how often it fails", replay])];
}

/** Text that stays inside its cell and means nothing to Markdown. */
function cell(value: string): string {
  return value.replaceAll("|", "\\|").replaceAll("<", "&lt;").replace(/\s+/g, " ");
}

/** The report for CI servers: a suite of scenarios and one of invariants. Inconclusive is an error, never a pass. */
import library, { type Builder, type TestSuite } from "junit-report-builder";
import type { Report, ReportedViolation } from "../report.ts";

/** Its types speak of a default export where CommonJS gives the builder itself. */
const builder = library as unknown as Builder;

export function junitReport(report: Report): string {
  const junit = builder.newBuilder();
  junit.name(`idemproof ${report.target}`);
  const scenarios = junit.testSuite().name("scenarios");
  for (const { id, title, verdict, reasons, failed } of report.scenarios) {
    addCase(scenarios, `${report.target}.scenarios`, `${id}: ${title}`, verdict, failed.join(", "), reasons, "");
  }
  const invariants = junit.testSuite().name("invariants");
  for (const { id, statement, verdict, level, reasons, violations, violationCount } of report.invariants) {
    // A deviation from a `should` is told in the output and does not fail a build.
    const shown = verdict === "fail" && level !== "must" ? "pass" : verdict;
    const message = verdict === "fail" ? `${violationCount} violation(s): ${violations[0]?.message ?? ""}` : "";
    addCase(
      invariants,
      `${report.target}.invariants`,
      `${id}: ${statement}`,
      shown,
      message,
      reasons,
      violations.map(text).join("\n\n"),
    );
  }
  return junit.build();
}

function addCase(
  suite: TestSuite,
  className: string,
  name: string,
  verdict: Report["verdict"],
  message: string,
  reasons: readonly string[],
  details: string,
): void {
  const testCase = suite.testCase().className(className).name(name);
  if (details !== "") testCase.standardOutput(printable(details));
  switch (verdict) {
    case "fail":
      testCase.failure(printable(message));
      return;
    case "inconclusive":
      testCase.error(printable(reasons.join("; ") || "inconclusive"), "inconclusive");
      return;
    case "skip":
      testCase.skipped();
      testCase.standardError(printable(reasons.join("; ")));
  }
}

function text({ id, message, expected, actual, witnesses, repeat, replay }: ReportedViolation): string {
  return [
    `${id}: ${message}`,
    `expected ${expected}`,
    `actual ${actual}`,
    ...witnesses.map(({ curl }) => curl),
    `again: ${repeat}`,
    ...(replay === "" ? [] : [`replay: ${replay}`]),
  ].join("\n");
}

/** XML 1.0 has no place for most control characters, which an answer may well contain. */
function printable(value: string): string {
  return value.replace(/[\p{Cs}\ufffe\uffff]|[^\P{Cc}\t\n\r]/gu, "\ufffd");
}

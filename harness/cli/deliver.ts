/** What happens with a judgement: the reports are written, one of them is printed. */
import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Failure, messageOf } from "../fail.ts";
import type { Judgement } from "../judge.ts";
import { type Report, reportOf } from "../report.ts";
import { jsonReport } from "../reporters/json.ts";
import { junitReport } from "../reporters/junit.ts";
import { markdownReport } from "../reporters/markdown.ts";
import { terminalReport } from "../reporters/terminal.ts";

/** Writes report.json, junit.xml and report.md beside the history; the last one to the job's summary too. */
export async function writeReports(judgement: Judgement, directory: string): Promise<Report> {
  const report = reportOf(judgement);
  const markdown = markdownReport(report);
  try {
    await mkdir(directory, { recursive: true });
    await Promise.all([
      writeFile(join(directory, "report.json"), jsonReport(report)),
      writeFile(join(directory, "junit.xml"), junitReport(report)),
      writeFile(join(directory, "report.md"), markdown),
    ]);
  } catch (error) {
    throw new Failure("usage", `the reports cannot be written to ${directory} (${messageOf(error)})`, { cause: error });
  }
  const summary = process.env["GITHUB_STEP_SUMMARY"];
  if (summary) await appendFile(summary, markdown);
  return report;
}

export function printReport(report: Report, judgement: Judgement, asJson: boolean): void {
  const { isTTY } = process.stdout;
  const color = isTTY === true && !process.env["NO_COLOR"];
  const callerHeaders = judgement.history.run?.callerHeaders ?? {};
  process.stdout.write(asJson ? jsonReport(report) : terminalReport(report, { color, callerHeaders }));
}

/** `idemproof check <history.ndjson>`: judge a stored history again, by the invariants of this version. */
import { resolve } from "node:path";
import { Command } from "commander";
import { invariants } from "../invariants/list.ts";
import { readHistory } from "../journal.ts";
import { judge } from "../judge.ts";
import { reportOf } from "../report.ts";
import { printReport, writeReports } from "./deliver.ts";
import { exitCodeOf } from "./exit.ts";

interface Options {
  readonly json?: boolean;
  readonly reportDir?: string;
}

export function checkCommand(): Command {
  return new Command("check")
    .description("judge a stored history again")
    .argument("<history>", "a history.ndjson of an earlier run")
    .option("--json", "print report.json instead of the report for people")
    .option("--report-dir <path>", "write the reports there as well")
    .action(async (path: string, options: Options) => {
      const judgement = judge(await readHistory(path), invariants);
      const report =
        options.reportDir === undefined
          ? reportOf(judgement)
          : await writeReports(judgement, resolve(options.reportDir));
      printReport(report, judgement, options.json === true);
      process.exitCode = exitCodeOf(judgement.result);
    });
}

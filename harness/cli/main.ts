#!/usr/bin/env node
/** The command line: one file per command; this one knows their names and turns errors into exit codes. */
import { Command, CommanderError } from "commander";
import { benchCommand } from "./bench.ts";
import { checkCommand } from "./check.ts";
import { exitCodes, reportFailure } from "./exit.ts";
import { listCommand } from "./list.ts";
import { version } from "./package.ts";
import { replayCommand } from "./replay.ts";
import { runCommand } from "./run.ts";
import { zooCommand } from "./zoo.ts";

const program = new Command("idemproof")
  .description("Proves, or disproves, that an HTTP API keeps the promise of its idempotency keys")
  .version(version)
  .showHelpAfterError("(idemproof --help lists the commands and their options)")
  .exitOverride();
for (const command of [runCommand(), replayCommand(), checkCommand(), zooCommand(), benchCommand(), listCommand()]) {
  program.addCommand(command.exitOverride());
}

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : exitCodes.usage;
  else process.exitCode = reportFailure(error);
}

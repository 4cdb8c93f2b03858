/**
 * What has to be done when a run is over and its processes have ended: containers removed, a database dropped.
 * A command of its own, so that the keeper can carry it out when the harness was killed.
 */
import { execFile } from "node:child_process";
import { appendFile } from "node:fs/promises";

export interface LastCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where it is written down what is left, for whom no message reaches. */
  readonly log: string;
  /** What is left when it does not do its work. */
  readonly otherwise: string;
}

/** It takes a second; but what is given up on a busy machine is left for good. */
const WITHIN_MS = 15_000;

/** What is left, in words; null when nothing is. Never rejects. */
export async function carryOutLast({ file, args, env, log, otherwise }: LastCommand): Promise<string | null> {
  const reason = await reasonOfFailure(file, args, env);
  if (reason === null) return null;
  const left = `${otherwise} (${reason})`;
  // Where the log cannot be written there is nobody else to tell.
  await appendFile(log, `${left}\n`).catch(() => undefined);
  return left;
}

function reasonOfFailure(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(file, args, { env, timeout: WITHIN_MS, killSignal: "SIGKILL" }, (error, _, stderr) => {
      if (error === null) resolve(null);
      else if (error.killed) resolve(`it was not done within ${WITHIN_MS} ms`);
      else resolve(stderr.trim().split("\n").at(-1) || error.message);
    });
  });
}

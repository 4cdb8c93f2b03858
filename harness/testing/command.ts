/** Runs the built command line as a user does, for tests. */
import { spawn } from "node:child_process";
import { join } from "node:path";

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const MAIN = join(import.meta.dirname, "..", "cli", "main.js");
export const PROJECT = join(import.meta.dirname, "..", "..", "..");

export interface CommandOptions {
  readonly directory?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export function idemproof(
  args: readonly string[],
  { directory = PROJECT, env = {} }: CommandOptions = {},
): Promise<Ran> {
  return runProcess(process.execPath, [MAIN, ...args], { directory, env });
}

export function runProcess(
  file: string,
  args: readonly string[],
  { directory = PROJECT, env = {} }: CommandOptions,
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      cwd: directory,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
}

/** A run that is killed so long after it said the words; resolves when it is dead. */
export function killedRun(
  args: readonly string[],
  { words, ms, env = {} }: { readonly words: string; readonly ms: number; readonly env?: CommandOptions["env"] },
): Promise<void> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: PROJECT,
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  return new Promise((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (text.includes(words)) setTimeout(() => child.kill("SIGKILL"), ms);
    });
    child.once("error", reject);
    child.once("close", (_, signal) =>
      signal === "SIGKILL" ? resolve() : reject(new Error(`the run ended before it was killed`)),
    );
  });
}

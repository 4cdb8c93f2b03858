/**
 * Ends what is left of a run: processes that have gone out of their group, as daemons do. They are known by
 * the run's marker in the environment they were started with, or by standing in one of its directories
 * (PostgreSQL writes its title over its environment). Linux only; elsewhere the groups have to do.
 */
import { readdir, readFile, readlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

export const MARKER = "IDEMPROOF_RUN";

/** A process may start another one between the look and the signal, so it is looked again until none is left. */
const LOOKS_MAX = 50;
const BETWEEN_LOOKS_MS = 10;

export async function endStragglers(marker: string, directories: readonly string[]): Promise<void> {
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const left = await processesOf(marker, directories);
    if (left.length === 0) return;
    for (const pid of left) kill(pid);
    await sleep(BETWEEN_LOOKS_MS);
  }
}

async function processesOf(marker: string, directories: readonly string[]): Promise<readonly number[]> {
  const names = await readdir("/proc").catch(() => []);
  const others = names.filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const isOurs = await Promise.all(others.map((pid) => belongs(pid, marker, directories)));
  return others.filter((_, index) => isOurs[index]).map(Number);
}

async function belongs(pid: string, marker: string, directories: readonly string[]): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  if (`\0${environment}\0`.includes(`\0${MARKER}=${marker}\0`)) return true;
  const place = await readlink(`/proc/${pid}/cwd`).catch(() => "");
  return directories.some((directory) => place === directory || place.startsWith(`${directory}/`));
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended between the look and the signal.
  }
}

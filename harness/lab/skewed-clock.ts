/**
 * What makes the clock of one process wrong: libfaketime, loaded before everything else. Found where Debian and
 * Ubuntu, Fedora and a build from source put it.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Variables } from "../fault.ts";

/** More than a day: whatever a target keeps for hours by its own clock is over for it, and nothing else changes. */
const SKEW_HOURS = 25;
const LIBRARIES = "/usr/lib";
/** Of the two that are built, the one for processes with threads. */
const LIBRARY = join("faketime", "libfaketimeMT.so.1");

/** Null: this machine has no such library. */
export function skewedClock(library = libraryFound()): Variables | null {
  if (library === null) return null;
  // The clock of timers is ahead by as much, and as fast. To leave it alone (FAKETIME_DONT_FAKE_MONOTONIC) makes
  // 0.9.10 refuse every wait until a moment of that clock, which is how Python sleeps.
  return { LD_PRELOAD: library, FAKETIME: `+${SKEW_HOURS}h` };
}

/** Is the clock of a process that was started with them ahead? `told` is when it says it is, `now` when it is. */
export function isSkewed(told: Date, now: Date): boolean {
  return told.getTime() - now.getTime() > (SKEW_HOURS / 2) * 3_600_000;
}

function libraryFound(): string | null {
  const folders = [...foldersIn(LIBRARIES), LIBRARIES, "/usr/lib64", "/usr/local/lib"];
  return folders.map((folder) => join(folder, LIBRARY)).find((path) => existsSync(path)) ?? null;
}

/** One for each architecture. */
function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name.includes("-linux-"))
      .map(({ name }) => join(folder, name));
  } catch {
    // A system without the folder has no library in it.
    return [];
  }
}

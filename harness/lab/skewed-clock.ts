/**
 * What makes the clock of one process wrong: libfaketime, loaded before everything else. Found where Debian and
 * Ubuntu, Fedora and a build from source put it.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Variables } from "../fault.ts";

/** More than a day: whatever a target keeps for hours by its own clock is over for it, and nothing else changes. */
const SKEW = "+25h";
const LIBRARIES = "/usr/lib";
/** Of the two that are built, the one for processes with threads. */
const LIBRARY = join("faketime", "libfaketimeMT.so.1");

/** Null: this machine has no such library. */
export function skewedClock(library = libraryFound()): Variables | null {
  if (library === null) return null;
  // Timers keep the right time: a wrong clock is to be the only thing that is wrong.
  return { LD_PRELOAD: library, FAKETIME: SKEW, FAKETIME_DONT_FAKE_MONOTONIC: "1" };
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

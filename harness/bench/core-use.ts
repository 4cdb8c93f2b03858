/** How many cores a process was using, from the kernel's own account. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Seconds of cores since the process began; null where there is no /proc. */
export function coreSecondsOf(pid: number): number | null {
  return secondsIn(pid, ["utime", "stime"]);
}

/** The same of this process's children that have ended. */
export function coreSecondsOfEnded(): number | null {
  return secondsIn(process.pid, ["cutime", "cstime"]);
}

/** Places in /proc/<pid>/stat behind the name, which may hold spaces and stands in brackets (proc(5)). */
const PLACES = { utime: 11, stime: 12, cutime: 13, cstime: 14 } as const;

function secondsIn(pid: number, fields: readonly (keyof typeof PLACES)[]): number | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    // Another system than Linux: the figure is left out.
    return null;
  }
  const values = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.reduce((sum, field) => sum + Number(values[PLACES[field]]), 0) / ticksPerSecond();
}

let ticks: number | undefined;

function ticksPerSecond(): number {
  ticks ??= Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
  return ticks;
}

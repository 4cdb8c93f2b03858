/**
 * One measurement of the check benchmark, in a process of its own with its own heap: `bare` reads a history and
 * parses every line of it, `judged` goes on to the verdicts. Prints what it measured as one line of JSON.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { invariants } from "../invariants/list.ts";
import { readHistory } from "../journal.ts";
import { judge } from "../judge.ts";
import type { Measured } from "./check.ts";

const CHUNK_BYTES = 1024 * 1024;

const [way, path] = process.argv.slice(2);
if (path === undefined) throw new Error("usage: check-process.js bare|judged <history.ndjson>");
const startedAt = performance.now();
const found = way === "bare" ? bare(path) : await judged(path);
const measured: Measured = {
  ...found,
  seconds: (performance.now() - startedAt) / 1000,
  cpuSeconds: (process.cpuUsage().user + process.cpuUsage().system) / 1_000_000,
  residentMiB: Math.round(process.resourceUsage().maxRSS / 1024),
};
process.stdout.write(`${JSON.stringify(measured)}\n`);

type Found = Omit<Measured, "seconds" | "cpuSeconds" | "residentMiB">;

/** Nothing but reading, splitting and `JSON.parse`. */
function bare(path: string): Found {
  const descriptor = openSync(path, "r");
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let attempts = 0;
  let rest: Buffer = Buffer.alloc(0);
  for (let read = readSync(descriptor, chunk); read > 0; read = readSync(descriptor, chunk)) {
    const bytes = Buffer.concat([rest, chunk.subarray(0, read)]);
    const end = bytes.lastIndexOf("\n") + 1;
    rest = bytes.subarray(end);
    for (const line of bytes.toString("utf8", 0, end).split("\n")) {
      if (line !== "" && JSON.parse(line).type === "invoked") attempts += 1;
    }
  }
  closeSync(descriptor);
  return { attempts, violations: {}, result: "" };
}

async function judged(path: string): Promise<Found> {
  const { history, result, invariants: verdicts } = judge(await readHistory(path), invariants);
  const broken = verdicts.filter(({ violations }) => violations.length > 0);
  const violations = Object.fromEntries(broken.map(({ invariant, violations }) => [invariant.id, violations.length]));
  return { attempts: history.attempts, violations, result };
}

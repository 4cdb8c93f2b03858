/**
 * The directory that a run writes its history and its reports to, claimed for as long as it does: two runs in one
 * directory would write over each other's evidence.
 *
 * Everyone who wants it adds a line to the claim file, and it belongs to the first one who still lives. So a claim
 * whose process was killed is passed over without being taken away, which is where two takers could get in each
 * other's way.
 */
import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, readFile, rm, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { Failure, messageOf } from "./fail.ts";

const CLAIM_FILE = "writing";
/** Each further one means that an owner was done at that very moment. */
const TRIES_MAX = 20;

export class ReportDirectory implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Throws a `usage` failure while another living process has it, or when nothing can be written there. */
  static async claim(path: string): Promise<ReportDirectory> {
    try {
      await mkdir(path, { recursive: true });
      for (let count = 0; count < TRIES_MAX; count += 1) {
        const owner = await firstLiving(join(path, CLAIM_FILE), await ownLine());
        if (owner === "file-gone") continue;
        if (owner === "own") return new ReportDirectory(path);
        throw taken(path, owner);
      }
      throw new Error(`its file ${CLAIM_FILE} does not keep what is written to it`);
    } catch (error) {
      throw error instanceof Failure ? error : unusable(path, error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(join(this.path, CLAIM_FILE), { force: true });
  }
}

/** Takes away what an earlier run left there. */
export async function emptyOf(directory: string, names: readonly string[]): Promise<void> {
  try {
    await mkdir(directory, { recursive: true });
    for (const name of names) await rm(join(directory, name), { recursive: true, force: true });
  } catch (error) {
    throw unusable(directory, error);
  }
}

/** A line of the claim file: `pid birth since id`. */
interface Claim {
  readonly pid: number;
  /** Tells the process from a later one of the same number; `-` where the system does not say. */
  readonly birth: string;
  readonly since: string;
}

async function ownLine(): Promise<string> {
  return `${process.pid} ${await birthOf(process.pid)} ${new Date().toISOString()} ${randomUUID()}`;
}

/** Whose the directory is: when nobody's, the line is added, and whoever's comes first has it. */
async function firstLiving(file: string, line: string): Promise<"own" | "file-gone" | Claim> {
  await using handle = await open(file, "a+");
  const before = await livingIn(handle, line);
  if (before !== null && before !== "own") return before;
  await handle.appendFile(`${line}\n`);
  const found = await livingIn(handle, line);
  // Whoever had the directory took its file away between the opening and this look at it.
  return found === null || !(await isAt(file, handle)) ? "file-gone" : found;
}

async function livingIn(handle: FileHandle, own: string): Promise<"own" | Claim | null> {
  for (const line of (await wholeOf(handle)).split("\n")) {
    if (line === own) return "own";
    const claim = claimIn(line);
    if (claim !== null && (await isAlive(claim))) return claim;
  }
  return null;
}

/** From its start, wherever the handle stands. */
async function wholeOf(handle: FileHandle): Promise<string> {
  const { size } = await handle.stat();
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0);
  return buffer.toString("utf8", 0, bytesRead);
}

async function isAt(file: string, handle: FileHandle): Promise<boolean> {
  const [opened, there] = await Promise.all([handle.stat(), stat(file).catch(() => null)]);
  return there !== null && opened.ino === there.ino && opened.dev === there.dev;
}

/** Null: a line that was cut, by a full disk or by hand. */
function claimIn(line: string): Claim | null {
  const [, pid, birth, since] = /^([1-9]\d*) (\S+) (\S+) \S+$/.exec(line) ?? [];
  return pid === undefined || birth === undefined || since === undefined ? null : { pid: Number(pid), birth, since };
}

async function isAlive({ pid, birth }: Claim): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Another user's process may not be asked, and is there.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const now = await birthOf(pid);
  return birth === "-" || now === "-" || birth === now;
}

/** In a container a harness that was killed and the next one often have the same number. Linux says when each began. */
async function birthOf(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name of the program, which may hold anything, ends at the last parenthesis; the start is the 22nd field.
  return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? "-";
}

function taken(path: string, { pid, since }: Claim): Failure {
  const place = relative(process.cwd(), path) || ".";
  return new Failure(
    "usage",
    `${place} is being written by process ${pid} (since ${since}); wait for it or give another --report-dir`,
  );
}

function unusable(path: string, error: unknown): Failure {
  return new Failure("usage", `the report directory ${path} cannot be used (${messageOf(error)})`, { cause: error });
}

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readHistory } from "../journal.ts";
import { PROJECT } from "../testing/command.ts";
import { leftAfter, livingOf, portsOf, TEST_RUN } from "../testing/processes.ts";
import { misbehaving, writeTargetFolder } from "../testing/target-folder.ts";

const MAIN = join(PROJECT, "dist", "harness", "cli", "main.js");
const REFERENCE = join(PROJECT, "targets", "reference");
/** So long after its death nothing of a run may be left. */
const GONE_WITHIN_MS = 5_000;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-killed-"));
  // PostgreSQL's user must get to its directory below.
  await chmod(folder, 0o755);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A run in a process of its own, with a temporary directory of its own, so that all it leaves can be seen. */
class ObservedRun {
  readonly mark = randomUUID();
  readonly directory: string;
  readonly reports: string;
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  stderr = "";

  constructor(directory: string, reports: string, args: readonly string[]) {
    this.directory = directory;
    this.reports = reports;
    this.#child = spawn(process.execPath, [MAIN, "run", "--report-dir", reports, ...args], {
      cwd: PROJECT,
      env: { ...process.env, TMPDIR: directory, [TEST_RUN]: this.mark },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.ended = new Promise((resolve) => this.#child.once("close", (code, signal) => resolve({ code, signal })));
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  history(): Promise<string> {
    return readFile(join(this.reports, "history.ndjson"), "utf8").catch(() => "");
  }

  /** Waits until the run has said something, or recorded it. */
  async until(words: string): Promise<void> {
    const isSo = async (): Promise<boolean> => this.stderr.includes(words) || (await this.history()).includes(words);
    while (!(await isSo())) {
      if (this.#child.exitCode !== null) throw new Error(`the run ended before "${words}": ${this.stderr}`);
      await sleep(10);
    }
  }
}

async function start(...args: readonly string[]): Promise<ObservedRun> {
  const place = await mkdtemp(join(folder, "run-"));
  const directory = join(place, "tmp");
  await mkdir(directory);
  await chmod(place, 0o755);
  await chmod(directory, 0o755);
  return new ObservedRun(directory, join(place, "report"), args);
}

/** Ends the run as `strike` does, and returns what of it is left when all of it should be gone. */
async function leftOf(run: ObservedRun, strike: () => Promise<void> | void): Promise<readonly string[]> {
  const ports = await portsOf(await livingOf(run.mark, run.directory));
  await strike();
  await run.ended;
  return leftAfter(GONE_WITHIN_MS, { mark: run.mark, directory: run.directory, ports });
}

const QUICK = ["--quick", "--only", "duplicates-at-once"];
/** Words to wait for, or "" for the very start, and milliseconds after them. */
const MOMENTS: readonly (readonly [string, number])[] = [
  ...[0, 20, 50, 80, 110, 150, 200].map((ms) => ["", ms] as const),
  ...[0, 100, 300, 600].map((ms) => ["starting PostgreSQL", ms] as const),
  ...[0, 60, 150, 300].map((ms) => ["starting 2 replica(s)", ms] as const),
  ...[0, 300, 900].map((ms) => ["[1/1]", ms] as const),
];

describe.concurrent("a harness that is killed", () => {
  test.each(MOMENTS)("leaves nothing behind: %j + %i ms", async (words, ms) => {
    const run = await start(REFERENCE, ...QUICK);
    if (words !== "") await run.until(words);
    await sleep(ms);
    expect(await leftOf(run, () => run.kill("SIGKILL"))).toEqual([]);
  });

  test.each([0, 400])("leaves nothing behind while a replica is paused: + %i ms", async (ms) => {
    const run = await start(REFERENCE, "--quick", "--only", "expired-lease");
    await run.until('"state":"injected"');
    await sleep(ms);
    expect(await leftOf(run, () => run.kill("SIGKILL"))).toEqual([]);
  });
});

/** Who interrupts a run has a prompt again within this time. */
const EXIT_WITHIN_MS = 5_000;

describe.concurrent("a harness that is interrupted", () => {
  test.each(["SIGINT", "SIGTERM"] as const)(
    "by %s in mid-run keeps its history, judges it and exits with 130",
    async (signal) => {
      const run = await start(REFERENCE, ...QUICK);
      await run.until('"type":"released"');
      const began = performance.now();
      run.kill(signal);
      expect(await run.ended).toEqual({ code: 130, signal: null });
      expect(performance.now() - began).toBeLessThan(EXIT_WITHIN_MS);
      expect(await leftAfter(0, run)).toEqual([]);
      const history = await readHistory(join(run.reports, "history.ndjson"));
      expect(history).toMatchObject({ ending: "interrupted", damage: [] });
      expect(history.attempts).toBeGreaterThan(1);
      const report = JSON.parse(await readFile(join(run.reports, "report.json"), "utf8")) as { verdict: string };
      expect(report.verdict).toBe("inconclusive");
    },
  );

  test("while a replica is paused and attempts wait for it", async () => {
    const run = await start(REFERENCE, "--quick", "--only", "expired-lease");
    await run.until('"state":"injected"');
    const began = performance.now();
    run.kill("SIGINT");
    expect(await run.ended).toEqual({ code: 130, signal: null });
    expect(performance.now() - began).toBeLessThan(EXIT_WITHIN_MS);
    expect(await run.history()).toContain('"ending":"interrupted"');
  });

  test("twice: the second one does not wait, and nothing is left all the same", async () => {
    const run = await start(REFERENCE, ...QUICK);
    await run.until('"type":"released"');
    const left = await leftOf(run, async () => {
      run.kill("SIGINT");
      await sleep(30);
      run.kill("SIGINT");
    });
    expect(left).toEqual([]);
    expect([130, null]).toContain((await run.ended).code);
  });

  test.each<[string, string, object]>([
    ["initdb runs", "starting PostgreSQL", {}],
    ["prepare hangs", "starting 1 replica(s)", { prepare: "sleep 1000" }],
    ["the target is not ready", "starting 1 replica(s)", { command: misbehaving("silent", "start"), readyMs: 60_000 }],
    ["the plain request has no answer", '"type":"run"', { command: misbehaving("silent") }],
  ])("while %s", async (name, words, parts) => {
    const target =
      name === "initdb runs" ? REFERENCE : await writeTargetFolder(join(folder, randomUUID()), { start: parts });
    const run = await start(target, ...QUICK);
    await run.until(words);
    await sleep(200);
    const began = performance.now();
    run.kill("SIGINT");
    expect(await run.ended).toEqual({ code: 130, signal: null });
    expect(performance.now() - began).toBeLessThan(EXIT_WITHIN_MS);
    expect(run.stderr).toContain("idemproof: interrupted");
    expect(await leftAfter(0, run)).toEqual([]);
  });
});

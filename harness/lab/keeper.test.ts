import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { leftAfter, livingOf, TEST_RUN } from "../testing/processes.ts";
import { Keeper, type KeptProcess, lastLines, ownEnvironment } from "./keeper.ts";
import { LINE_CHARACTERS_MAX, LOG_BYTES_MAX } from "./process-log.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-keeper-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Started {
  readonly process: KeptProcess;
  readonly log: string;
  readonly mark: string;
}

async function shell(keeper: Keeper, script: string, secrets: readonly string[] = []): Promise<Started> {
  const mark = randomUUID();
  const log = join(folder, `${mark}.log`);
  const env = { ...ownEnvironment(), [TEST_RUN]: mark };
  const stopSignal = "SIGTERM";
  const process = await keeper.start({
    file: "/bin/sh",
    args: ["-c", script],
    env,
    directory: "/",
    log,
    secrets,
    stopSignal,
  });
  return { process, log, mark };
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200 && !(await isSo()); tries += 1) await sleep(50);
}

/** A directory in which nothing stands, for `leftAfter`. */
async function emptyFolder(): Promise<string> {
  return mkdtemp(join(folder, "empty-"));
}

test("tells how a process ended, and keeps what it wrote on either stream", async () => {
  await using keeper = new Keeper();
  const { process, log } = await shell(keeper, "echo out; echo err >&2; printf 'no line end'; exit 7");
  expect(await process.exited).toEqual({ code: 7, signal: null });
  expect(process.exit).toEqual({ code: 7, signal: null });
  const lines = (await readFile(log, "utf8")).trimEnd().split("\n");
  expect(lines.sort()).toEqual(["err", "no line end", "out"]);
  expect(await lastLines(log)).toContain("    out");
});

test("what cannot be started is an error in words", async () => {
  await using keeper = new Keeper();
  const start = { args: [], env: {}, log: join(folder, "x.log"), secrets: [], stopSignal: "SIGTERM" } as const;
  await expect(keeper.start({ ...start, file: "/no/such/file", directory: "/" })).rejects.toThrow("ENOENT");
  await expect(keeper.start({ ...start, file: "a\0b", directory: "/" })).rejects.toThrow("null bytes");
  // It is none the worse for it.
  expect(await (await shell(keeper, "exit 0")).process.exited).toMatchObject({ code: 0 });
});

test.each([
  ["a process that ignores SIGTERM", "trap '' TERM; sleep 1000 & wait; sleep 1000"],
  ["a shell with children", "sleep 1000 & (sleep 1000 & sleep 1000) & wait"],
  ["a daemon in a session of its own", "setsid sleep 1000 >/dev/null 2>&1 & sleep 1000"],
  ["a daemon whose starter has gone", "setsid sh -c 'sleep 1000 & sleep 1000' >/dev/null 2>&1 & exit 0"],
  ["a process that is stopped", "kill -STOP $$; sleep 1000"],
])("%s is gone when the keeper ends", async (_, script) => {
  const keeper = new Keeper();
  const { mark } = await shell(keeper, script);
  await until(async () => (await livingOf(mark, "/nowhere")).length > 0);
  await sleep(200);
  expect(await livingOf(mark, "/nowhere")).not.toEqual([]);
  await keeper[Symbol.asyncDispose]();
  expect(await leftAfter(0, { mark, directory: await emptyFolder() })).toEqual([]);
});

test("a process standing in the keeper's directory is gone too, whatever its environment", async () => {
  const keeper = new Keeper();
  const directory = await keeper.makeDirectory("idemproof-tested-");
  await shell(keeper, `cd ${directory} && setsid env -i sleep 1000 >/dev/null 2>&1 & sleep 1000`);
  await until(async () => (await livingOf("none", directory)).length > 0);
  await keeper[Symbol.asyncDispose]();
  expect(await livingOf("none", directory)).toEqual([]);
  await expect(stat(directory)).rejects.toThrow("ENOENT");
});

test("a daemon that holds the output open does not hide the end of its starter", async () => {
  await using keeper = new Keeper();
  const { process } = await shell(keeper, "sleep 1000 & exit 4");
  expect(await Promise.race([process.exited, sleep(5_000)])).toEqual({ code: 4, signal: null });
});

test("what a process writes when it is asked to end is in its log", async () => {
  const keeper = new Keeper();
  const { log } = await shell(keeper, "trap 'echo last words; exit 0' TERM; echo ready; while :; do sleep 0.05; done");
  await until(async () => (await readFile(log, "utf8").catch(() => "")).includes("ready"));
  await keeper[Symbol.asyncDispose]();
  expect(await readFile(log, "utf8")).toMatch(/^ready\n(.*\n)?last words\n$/);
});

test("no secret gets into a log, not across the cut of a long line either", async () => {
  await using keeper = new Keeper();
  const secret = "alice-secret-token";
  const before = LINE_CHARACTERS_MAX - 3;
  const part = (count: number, letter: string): string => `head -c ${count} /dev/zero | tr '\\0' ${letter}`;
  // With its first half the line is too long to be kept.
  const halves = `printf %s ${secret.slice(0, 9)}; sleep 0.3; printf %s ${secret.slice(9)}`;
  const script = `echo "token=${secret}"; ${part(before, "x")}; ${halves}; ${part(200_000, "y")}`;
  const { process, log } = await shell(keeper, script, [secret]);
  await process.exited;
  const text = await readFile(log, "utf8");
  expect(text.replaceAll("\n", "")).not.toContain(secret);
  expect(text.match(/\[redacted\]/g)).toHaveLength(2);
  expect(text.replaceAll(/[^xy]/g, "")).toBe("x".repeat(before) + "y".repeat(200_000));
});

test("a log without end is cut", async () => {
  await using keeper = new Keeper();
  const { process, log } = await shell(
    keeper,
    `yes 'a line of a log' | head -c ${LOG_BYTES_MAX + 5_000_000}; echo done`,
  );
  await process.exited;
  expect((await stat(log)).size).toBeLessThan(LOG_BYTES_MAX + 100);
  const handle = await readFile(log, "utf8");
  expect(handle.slice(-40)).toContain("[the log goes on and is cut here]\n");
});

test("a keeper that is killed leaves its work to the harness", async () => {
  const keeper = new Keeper();
  const directory = await keeper.makeDirectory("idemproof-tested-");
  const { mark, process: kept } = await shell(keeper, "trap '' TERM; sleep 1000");
  const [starter] = await parentsOf(mark);
  process.kill(starter ?? 0, "SIGKILL");
  expect(await kept.exited).toEqual({ code: null, signal: "SIGKILL" });
  await expect(keeper.makeDirectory("x-")).rejects.toThrow("the process that keeps the lab has ended");
  await keeper[Symbol.asyncDispose]();
  expect(await leftAfter(0, { mark, directory: await emptyFolder() })).toEqual([]);
  await expect(stat(directory)).rejects.toThrow("ENOENT");
});

async function parentsOf(mark: string): Promise<readonly number[]> {
  const living = await livingOf(mark, "/nowhere");
  const all = await Promise.all(
    living.map(async ({ pid }) => /PPid:\t(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]),
  );
  const own = new Set(living.map(({ pid }) => pid));
  return all.map(Number).filter((pid) => !own.has(pid));
}

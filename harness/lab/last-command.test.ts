import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Keeper, ownEnvironment } from "./keeper.ts";
import type { LastCommand } from "./last-command.ts";

let folder = "";
let place = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-last-"));
});
beforeEach(async () => {
  place = await mkdtemp(join(folder, "test-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function last(script: string): LastCommand {
  const log = join(place, "left-behind.log");
  return { file: "/bin/sh", args: ["-c", script], env: ownEnvironment(), log, otherwise: "a thing; take it away" };
}

function written(name: string): Promise<string> {
  return readFile(join(place, name), "utf8").catch(() => "");
}

async function startSleeping(keeper: Keeper): Promise<number> {
  const { pid } = await keeper.start({
    file: "sleep",
    args: ["1000"],
    env: ownEnvironment(),
    directory: "/",
    log: join(place, "sleep.log"),
    secrets: [],
    stopSignal: "SIGTERM",
  });
  return pid;
}

test("a last command runs when the processes have ended and the directories are still there", async () => {
  const keeper = new Keeper();
  const directory = await keeper.makeDirectory("idemproof-tested-");
  const pid = await startSleeping(keeper);
  await keeper.runAtEnd(
    last(`if kill -0 ${pid} 2>/dev/null; then echo early; else ls -d ${directory}; fi > ${place}/out`),
  );
  expect(await written("out")).toBe("");
  await keeper[Symbol.asyncDispose]();
  expect(await written("out")).toBe(`${directory}\n`);
  expect(await written("left-behind.log")).toBe("");
});

test("what a last command could not do is written down, with its last words", async () => {
  const keeper = new Keeper();
  await keeper.runAtEnd(last("echo first >&2; echo the server is gone >&2; exit 1"));
  await keeper.runAtEnd(last("exit 0"));
  await keeper[Symbol.asyncDispose]();
  expect(await written("left-behind.log")).toBe("a thing; take it away (the server is gone)\n");
});

test("the harness carries it out for a keeper that was killed", async () => {
  const keeper = new Keeper();
  await keeper.runAtEnd(last(`echo done > ${place}/out`));
  const pid = await startSleeping(keeper);
  process.kill(Number(execFileSync("ps", ["-o", "ppid=", "-p", String(pid)]).toString()), "SIGKILL");
  await expect.poll(() => written("out"), { timeout: 10_000 }).toBe("done\n");
  await keeper[Symbol.asyncDispose]();
});

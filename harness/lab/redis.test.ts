import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { idemproof, type Ran } from "../testing/command.ts";
import { misbehaving, writeTargetFolder } from "../testing/target-folder.ts";
import { Keeper } from "./keeper.ts";
import { accepts, freePort } from "./port.ts";
import { startRedis } from "./redis.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-redis-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const OPTIONS = { secrets: [], signal: new AbortController().signal };

function isInstalled(): boolean {
  try {
    execFileSync("redis-server", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function ask(url: string, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(Number(new URL(url).port), "127.0.0.1", () => socket.write(`${command}\r\n`));
    socket.setEncoding("utf8").once("data", (text: string) => {
      socket.destroy();
      resolve(text.trim());
    });
    socket.once("error", reject);
  });
}

/** A run of a target that names Redis and tells what it was given. */
async function runWithRedis(name: string, env: Readonly<Record<string, string>>): Promise<Ran & { log: string }> {
  const place = await writeTargetFolder(join(folder, name), {
    start: { command: `echo "redis at $REDIS"; ${misbehaving("none")}`, env: { PORT: "${port}", REDIS: "${redis}" } },
  });
  const ran = await idemproof(
    ["run", place, "--quick", "--only", "missing-key", "--report-dir", join(place, "report")],
    { env },
  );
  const log = await readFile(join(place, "report", "logs", "replica-0.log"), "utf8").catch(() => "");
  return { ...ran, log };
}

test.runIf(isInstalled())("found on PATH: a server of its own, keeping nothing, gone with the run", async () => {
  const keeper = new Keeper();
  const url = await startRedis(keeper, folder, OPTIONS);
  expect(await ask(url, "PING")).toBe("+PONG");
  expect(await ask(url, "CONFIG GET save")).toContain("save");
  await keeper[Symbol.asyncDispose]();
  expect(await accepts(Number(new URL(url).port))).toBe(false);
});

describe.concurrent("a target that names Redis", () => {
  test("is given the URL of the environment", async () => {
    const server = createServer((socket) => socket.on("error", () => undefined).resume());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const url = `redis://:pass-word@127.0.0.1:${typeof address === "object" ? address?.port : 0}/2`;
    const { code, log } = await runWithRedis("given", { IDEMPROOF_REDIS_URL: url });
    server.close();
    expect(log).toContain("redis at redis://:[redacted]@127.0.0.1:");
    expect(code).toBe(0);
  });

  test("is not run when nothing is at the URL, and the URL's password is not told", async () => {
    const url = `redis://:pass-word@127.0.0.1:${await freePort()}`;
    const { code, stderr } = await runWithRedis("unreachable", { IDEMPROOF_REDIS_URL: url });
    expect(stderr).toMatch(/idemproof: IDEMPROOF_REDIS_URL: nothing accepts connections at 127\.0\.0\.1:\d+/);
    expect(stderr).not.toContain("pass-word");
    expect(code).toBe(2);
  });

  test("is not run when the URL is none", async () => {
    const { code, stderr } = await runWithRedis("nonsense", { IDEMPROOF_REDIS_URL: "localhost" });
    expect(stderr).toContain(
      "idemproof: IDEMPROOF_REDIS_URL: found no Redis URL, expected one such as redis://127.0.0.1:6379",
    );
    expect(code).toBe(2);
  });

  test("is skipped in clear words where there is none", async () => {
    const { code, stderr } = await runWithRedis("absent", { PATH: "" });
    expect(stderr).toContain(
      "idemproof: skipped: the target needs Redis and there is none: give its URL in IDEMPROOF_REDIS_URL, put redis-server on PATH (Debian: apt-get install redis-server), or pull the image redis:7-alpine for a running Docker engine",
    );
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(code).toBe(3);
  });
});

import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Keeper } from "../lab/keeper.ts";
import { freePort } from "../lab/port.ts";
import { startRedis } from "../lab/redis.ts";
import { RedisCounter } from "./redis-commands.ts";
import { costsOf } from "./request-costs.ts";

function isInstalled(): boolean {
  try {
    execFileSync("redis-server", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

test("a server that is not there is named, with its place", async () => {
  const port = await freePort();
  await expect(RedisCounter.open(`redis://127.0.0.1:${port}`)).rejects.toMatchObject({
    code: "not-ready",
    message: expect.stringContaining(`Redis at 127.0.0.1:${port} cannot be counted`),
  });
});

describe.runIf(isInstalled())("the commands of a request", () => {
  let folder = "";
  let keeper: Keeper;
  let url = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "idemproof-redis-commands-"));
    keeper = new Keeper();
    url = await startRedis(keeper, folder, { secrets: [], signal: new AbortController().signal });
  });
  afterAll(async () => {
    await keeper[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** Sends lines, and waits for as many answers of one line. */
  function say(...commands: readonly string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(new URL(url).port), "127.0.0.1", () =>
        socket.write(`${commands.join("\r\n")}\r\n`),
      );
      let answers = "";
      socket.setEncoding("utf8").on("data", (text: string) => {
        answers += text;
        if (answers.split("\r\n").length <= commands.length) return;
        socket.destroy();
        resolve();
      });
      socket.once("error", reject);
    });
  }

  test("are counted as the server does, without our own, and without what only some requests have beside them", async () => {
    await using redis = await RedisCounter.open(url);
    let requests = 0;
    const costs = await costsOf({ database: null, redis }, 5, async () => {
      requests += 1;
      await say("SET key value", "INCR count", "INCR count");
      if (requests === 3) await say("PING");
    });
    expect(costs).toEqual({ "redis-commands": 3 });
  });

  test("are none where nothing is asked", async () => {
    await using redis = await RedisCounter.open(url);
    expect(await costsOf({ database: null, redis }, 3, async () => undefined)).toEqual({ "redis-commands": 0 });
  });
});

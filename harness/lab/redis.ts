/** Redis for targets that name it: a URL, a binary on PATH, a container; else unavailable, in clear words. */
import { execFile } from "node:child_process";
import { createConnection } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Failure } from "../fail.ts";
import { type Keeper, type KeptProcess, lastLines } from "./keeper.ts";
import { freePort } from "./port.ts";
import { ownEnvironment } from "./postgres.ts";

const READY_MS = 10_000;
const IMAGE = "redis:7-alpine";

export async function startRedis(keeper: Keeper, logs: string): Promise<string> {
  const url = process.env["IDEMPROOF_REDIS_URL"];
  if (url !== undefined) return url;
  const port = await freePort();
  const log = join(logs, "redis.log");
  const started = await startProcess(keeper, port, log);
  const end = performance.now() + READY_MS;
  while (!(await accepts(port))) {
    if (started.exit !== null || performance.now() > end) {
      throw new Failure("not-ready", `Redis does not come up; its last lines:\n${await lastLines(log)}`);
    }
    await sleep(20);
  }
  return `redis://127.0.0.1:${port}`;
}

async function startProcess(keeper: Keeper, port: number, log: string): Promise<KeptProcess> {
  const common = { env: ownEnvironment(), directory: "/", log, secrets: [], stopSignal: "SIGTERM" as const };
  const settings = ["--port", String(port), "--save", "", "--appendonly", "no"];
  if (await answers("redis-server", ["--version"])) {
    return keeper.start({ ...common, file: "redis-server", args: [...settings, "--bind", "127.0.0.1"] });
  }
  if (await answers("docker", ["image", "inspect", IMAGE])) {
    const run = ["run", "--rm", "--publish", `127.0.0.1:${port}:${port}`, IMAGE, "redis-server", ...settings];
    return keeper.start({ ...common, file: "docker", args: run });
  }
  throw new Failure(
    "unavailable",
    `the target needs Redis and there is none: give its URL in IDEMPROOF_REDIS_URL, put redis-server on PATH (Debian: apt-get install redis-server), or pull the image ${IMAGE} for a running Docker engine`,
  );
}

async function answers(file: string, args: readonly string[]): Promise<boolean> {
  try {
    await promisify(execFile)(file, [...args], { timeout: 5_000 });
    return true;
  } catch {
    return false;
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

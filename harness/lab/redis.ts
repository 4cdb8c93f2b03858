/** Redis for targets that name it: a URL, a binary on PATH, a container; else unavailable, in clear words. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { Failure } from "../fail.ts";
import { type Keeper, type KeptProcess, lastLines, ownEnvironment } from "./keeper.ts";
import { accepts, freePort, isListening, isPortTaken, START_TRIES } from "./port.ts";
import type { ServiceOptions } from "./postgres.ts";

const READY_MS = 10_000;
const IMAGE = "redis:7-alpine";
const VARIABLE = "IDEMPROOF_REDIS_URL";

/** `logs` is the folder for its log. */
export async function startRedis(keeper: Keeper, logs: string, options: ServiceOptions): Promise<string> {
  const url = process.env[VARIABLE];
  if (url) return givenRedis(url);
  const log = join(logs, "redis.log");
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    const started = await startProcess(keeper, port, log, options);
    if (await isListening(started, port, READY_MS, options.signal)) return `redis://127.0.0.1:${port}`;
    const lines = await lastLines(log);
    if (tries < START_TRIES && isPortTaken(lines)) continue;
    throw new Failure("not-ready", `Redis does not come up; its last lines:\n${lines}`);
  }
}

/** The URL may hold a password, so only host and port are told. */
async function givenRedis(url: string): Promise<string> {
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url)) {
    throw new Failure("usage", `${VARIABLE}: found no Redis URL, expected one such as redis://127.0.0.1:6379`);
  }
  const { hostname, port } = new URL(url);
  if (await accepts(Number(port || 6379), hostname.replace(/^\[|\]$/g, ""))) return url;
  throw new Failure("not-ready", `${VARIABLE}: nothing accepts connections at ${hostname}:${port || 6379}`);
}

async function startProcess(
  keeper: Keeper,
  port: number,
  log: string,
  { secrets }: ServiceOptions,
): Promise<KeptProcess> {
  const common = { env: ownEnvironment(), directory: "/", log, secrets, stopSignal: "SIGTERM" as const };
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
    `the target needs Redis and there is none: give its URL in ${VARIABLE}, put redis-server on PATH (Debian: apt-get install redis-server), or pull the image ${IMAGE} for a running Docker engine`,
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

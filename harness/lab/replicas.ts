/** The target's processes: started together, ready when they answer a request, ended with the run. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openExchange } from "../burst/exchange.ts";
import { Failure } from "../fail.ts";
import type { TargetFile } from "../target.ts";
import { type Keeper, type KeptProcess, lastLines } from "./keeper.ts";
import { freePort } from "./port.ts";
import { ownEnvironment } from "./postgres.ts";

type Start = NonNullable<TargetFile["start"]>;

/** One look at the ready path. */
const READY_REQUEST_MS = 2_000;
/** `prepare` may install packages. */
const PREPARE_MS = 300_000;

export interface Replica {
  readonly url: URL;
  readonly http2Url: URL | null;
  readonly process: KeptProcess;
}

export interface ReplicasOptions {
  readonly start: Start;
  readonly directory: string;
  readonly logs: string;
  readonly secrets: readonly string[];
  readonly hasHttp2: boolean;
  /** What `${name}` stands for, beside the ports and the replica's number. */
  readonly names: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export async function startReplicas(keeper: Keeper, options: ReplicasOptions): Promise<readonly Replica[]> {
  const { start } = options;
  if (start.prepare !== undefined) await prepare(keeper, options, start.prepare);
  const numbers = Array.from({ length: start.replicas }, (_, number) => number);
  return Promise.all(numbers.map((number) => startReplica(keeper, options, number)));
}

async function prepare(keeper: Keeper, options: ReplicasOptions, command: string): Promise<void> {
  const log = join(options.logs, "prepare.log");
  const process = await keeper.start(shell(options, command, {}, log));
  const timeout = new AbortController();
  const exit = await Promise.race([
    process.exited,
    sleep(PREPARE_MS, null, { signal: AbortSignal.any([timeout.signal, options.signal]), ref: false }),
  ]).finally(() => timeout.abort());
  if (exit?.code === 0) return;
  const how = exit === null ? `was not done within ${PREPARE_MS / 1000} s` : `ended with ${exit.signal ?? exit.code}`;
  throw new Failure("not-ready", `start.prepare (${command}) ${how}; its last lines:\n${await lastLines(log)}`);
}

async function startReplica(keeper: Keeper, options: ReplicasOptions, number: number): Promise<Replica> {
  const port = await freePort();
  const http2Port = options.hasHttp2 ? await freePort() : null;
  const names = { ...options.names, port: String(port), replica: String(number), http2Port: String(http2Port ?? "") };
  const log = join(options.logs, `replica-${number}.log`);
  const process = await keeper.start(shell(options, options.start.command, names, log));
  const replica: Replica = {
    url: new URL(`http://127.0.0.1:${port}`),
    http2Url: http2Port === null ? null : new URL(`http://127.0.0.1:${http2Port}`),
    process,
  };
  await untilReady(options, replica, number);
  return replica;
}

function shell(options: ReplicasOptions, command: string, names: Readonly<Record<string, string>>, log: string) {
  const env = Object.entries(options.start.env).map(([name, value]) => [name, filledIn(value, names)]);
  return {
    file: "/bin/sh",
    // `exec` where the command is a single one, so that a signal reaches the target itself first.
    args: ["-c", filledIn(command, names)],
    env: { ...ownEnvironment(), ...(Object.fromEntries(env) as Record<string, string>) },
    directory: options.directory,
    log,
    secrets: options.secrets,
    stopSignal: "SIGTERM" as const,
  };
}

function filledIn(text: string, names: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{(\w+)\}/g, (whole, name: string) => names[name] ?? whole);
}

async function untilReady({ start, signal }: ReplicasOptions, replica: Replica, number: number): Promise<void> {
  const end = performance.now() + start.readyMs;
  const [method = "GET", path = "/"] = start.ready.split(" ");
  let last = "no answer";
  for (;;) {
    const { exit, log } = replica.process;
    if (exit !== null) {
      throw new Failure(
        "not-ready",
        `replica ${number} ended with ${exit.signal ?? `exit code ${exit.code}`} before it was ready; its last lines:\n${await lastLines(log)}`,
      );
    }
    if (performance.now() > end) {
      throw new Failure(
        "not-ready",
        `replica ${number} was not ready within ${start.readyMs} ms: ${start.ready} gave ${last}, expected a 2xx; its last lines:\n${await lastLines(log)}`,
      );
    }
    signal.throwIfAborted();
    const exchange = openExchange(
      replica.url,
      { method, path, headers: {}, body: "" },
      { gate: "none", timeoutMs: READY_REQUEST_MS },
    );
    await exchange.armed;
    exchange.release();
    const outcome = await exchange.outcome;
    if (outcome.kind === "responded" && outcome.status >= 200 && outcome.status < 300) return;
    last = outcome.kind === "responded" ? `status ${outcome.status}` : outcome.reason;
    await sleep(25);
  }
}

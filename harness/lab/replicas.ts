/** The target's processes: started together, ready when they answer a request, ended with the run. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../fail.ts";
import type { Variables } from "../fault.ts";
import type { HttpRequest } from "../operation.ts";
import { redacted } from "../secrets.ts";
import { lossInWords, sendOnce } from "../send-once.ts";
import type { TargetFile } from "../target.ts";
import { unlessAborted } from "./abort.ts";
import { type Exit, type Keeper, type KeptProcess, lastLines, ownEnvironment, type StartCommand } from "./keeper.ts";
import { filledIn, namesIn, REPLICA_NAMES } from "./names.ts";
import { accepts, freePort, isPortTaken, START_TRIES } from "./port.ts";

type Start = NonNullable<TargetFile["start"]>;
type Names = Readonly<Record<string, string>>;

/** One look at the ready path. */
const READY_REQUEST_MS = 2_000;
const BETWEEN_LOOKS_MS = 25;
/** Who was asked to end and has not by then is killed, as a deployment does. */
const STOP_MS = 5_000;

export interface Replica {
  readonly url: URL;
  readonly http2Url: URL | null;
  /** The one that runs now. */
  readonly process: KeptProcess;
  /** Ended on purpose, and not started again yet. */
  readonly isKilled: boolean;
  kill(): Promise<void>;
  /** Asks it to end; resolves when it has. */
  stop(): Promise<void>;
  /** On the same ports, with these variables beside its own, in which names stand as in its own. Resolves when it is ready again. */
  restart(env?: Variables): Promise<void>;
  /** When it is by the `Date` of an answer (RFC 9110 section 6.6.1), or null where it gives none. */
  clock(): Promise<Date | null>;
}

export interface ReplicasOptions {
  readonly start: Start;
  readonly directory: string;
  readonly logs: string;
  readonly secrets: readonly string[];
  readonly hasHttp2: boolean;
  /** What `${name}` stands for, beside the ports and the replica's number. */
  readonly names: Names;
  /** What stands for something else in one replica. */
  readonly namesOfReplica?: (replica: number) => Names;
  readonly signal: AbortSignal;
}

export async function startReplicas(keeper: Keeper, options: ReplicasOptions): Promise<readonly Replica[]> {
  const { start, signal } = options;
  await checkDirectory(options.directory);
  if (start.prepare !== undefined) await prepare(keeper, options, start.prepare);
  // When one of them fails, the others are not waited for.
  const failed = new AbortController();
  const both = { ...options, signal: AbortSignal.any([signal, failed.signal]) };
  const starting = Array.from({ length: start.replicas }, (_, number) =>
    startReplica(keeper, both, number).catch((error: unknown) => {
      failed.abort(error);
      throw error;
    }),
  );
  const settled = await Promise.allSettled([...starting, startBeside(keeper, both)]);
  signal.throwIfAborted();
  failed.signal.throwIfAborted();
  return settled.flatMap((one) => (one.status === "fulfilled" && one.value !== undefined ? [one.value] : []));
}

/** Nobody asks them whether they are ready: what they are for shows in the books. */
async function startBeside(keeper: Keeper, options: ReplicasOptions): Promise<undefined> {
  for (const [name, command] of Object.entries(options.start.beside)) {
    await keeper.start(shell(options, command, options.names, join(options.logs, `${name}.log`)));
  }
}

async function checkDirectory(directory: string): Promise<void> {
  const isFolder = await stat(directory).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) throw new Failure("usage", `start.directory: found no folder ${directory}`);
}

async function prepare(keeper: Keeper, options: ReplicasOptions, command: string): Promise<void> {
  const { start, secrets, signal } = options;
  const log = join(options.logs, "prepare.log");
  const process = await keeper.start(shell(options, command, options.names, log));
  const timer = new AbortController();
  const tooLong = sleep(start.prepareMs, null, { signal: timer.signal }).catch(() => null);
  const exit = await unlessAborted(signal, Promise.race([process.exited, tooLong])).finally(() => timer.abort());
  if (exit?.code === 0) return;
  const how = exit === null ? `was not done within ${start.prepareMs} ms` : `ended with ${exitInWords(exit)}`;
  throw new Failure(
    "not-ready",
    `start.prepare (${redacted(command, secrets)}) ${how}; its last lines:\n${await lastLines(log)}`,
  );
}

/** A port that another process took meanwhile is no fault of the target's: it is started on another one. */
async function startReplica(keeper: Keeper, options: ReplicasOptions, number: number): Promise<Replica> {
  const log = join(options.logs, `replica-${number}.log`);
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    const http2Port = options.hasHttp2 ? await freePort() : null;
    const names = {
      ...options.names,
      ...options.namesOfReplica?.(number),
      port: String(port),
      replica: String(number),
      http2Port: String(http2Port ?? ""),
    };
    const command = shell(options, options.start.command, names, log);
    const replica = new StartedReplica(keeper, options, number, command, names, { port, http2Port });
    if (await replica.start()) return replica;
    const lines = await lastLines(log);
    if (tries < START_TRIES && isPortTaken(lines)) continue;
    throw endedEarly(number, replica.process, lines);
  }
}

class StartedReplica implements Replica {
  readonly url: URL;
  readonly http2Url: URL | null;
  isKilled = false;
  readonly #keeper: Keeper;
  readonly #options: ReplicasOptions;
  readonly #number: number;
  readonly #command: StartCommand;
  readonly #names: Names;
  #process: KeptProcess | null = null;

  constructor(
    keeper: Keeper,
    options: ReplicasOptions,
    number: number,
    command: StartCommand,
    names: Names,
    { port, http2Port }: { port: number; http2Port: number | null },
  ) {
    this.#keeper = keeper;
    this.#options = options;
    this.#number = number;
    this.#command = command;
    this.#names = names;
    this.url = new URL(`http://127.0.0.1:${port}`);
    this.http2Url = http2Port === null ? null : new URL(`http://127.0.0.1:${http2Port}`);
  }

  get process(): KeptProcess {
    if (this.#process === null) throw new Error(`replica ${this.#number} was never started`);
    return this.#process;
  }

  /** False when it has ended instead of becoming ready. */
  async start(env: Variables = {}): Promise<boolean> {
    const others = Object.entries(env).map(([name, text]) => [name, filledIn(text, this.#names)]);
    const all = { ...this.#command.env, ...Object.fromEntries(others) };
    this.#process = await this.#keeper.start({ ...this.#command, env: all });
    return isReady(this.#options, this, this.#number);
  }

  async kill(): Promise<void> {
    this.isKilled = true;
    await this.process.signal("SIGKILL");
    await this.process.exited;
  }

  async stop(): Promise<void> {
    if (this.process.exit !== null) return;
    this.isKilled = true;
    await this.process.signal("SIGTERM");
    const timer = new AbortController();
    const tooLong = sleep(STOP_MS, true, { signal: timer.signal }).catch(() => false);
    const isTooLong = await Promise.race([this.process.exited.then(() => false), tooLong]).finally(() => timer.abort());
    if (isTooLong) await this.kill();
  }

  async restart(env?: Variables): Promise<void> {
    if (!(await this.start(env))) throw endedEarly(this.#number, this.process, await lastLines(this.process.log));
    this.isKilled = false;
  }

  async clock(): Promise<Date | null> {
    const { start, signal } = this.#options;
    const outcome = await sendOnce(this.url, readyRequest(start), { timeoutMs: READY_REQUEST_MS, signal });
    const told = outcome.kind === "responded" ? new Date(outcome.headers["date"] ?? "") : null;
    return told === null || Number.isNaN(told.getTime()) ? null : told;
  }
}

function endedEarly(number: number, { exit }: KeptProcess, lines: string): Failure {
  return new Failure(
    "not-ready",
    `replica ${number} ended with ${exitInWords(exit)} before it was ready; its last lines:\n${lines}`,
  );
}

function exitInWords(exit: Exit | null): string {
  if (exit?.code === 0) return "exit code 0 (the command must stay in the foreground)";
  return exit?.signal ?? `exit code ${exit?.code}`;
}

function shell(options: ReplicasOptions, command: string, names: Names, log: string): StartCommand {
  return {
    file: "/bin/sh",
    args: ["-c", filledIn(command, names)],
    env: { ...ownEnvironment(), ...environment(options.start, names) },
    directory: options.directory,
    log,
    secrets: options.secrets,
    stopSignal: "SIGTERM" as const,
  };
}

/** Without ports, as for `prepare`, the variables that would hold one are left out. */
function environment(start: Start, names: Names): Readonly<Record<string, string>> {
  const isKnown = (text: string): boolean =>
    namesIn(text).every((name) => name in names || !REPLICA_NAMES.includes(name));
  const known = Object.entries(start.env).filter(([, text]) => isKnown(text));
  return Object.fromEntries(known.map(([name, text]) => [name, filledIn(text, names)]));
}

/** True when it answers as it should, false when it has ended. Throws when it does neither in time. */
async function isReady(
  options: ReplicasOptions,
  { process, url, http2Url }: Pick<Replica, "process" | "url" | "http2Url">,
  number: number,
): Promise<boolean> {
  const { start, signal } = options;
  const end = performance.now() + start.readyMs;
  let last = "nothing was asked";
  for (;;) {
    if (process.exit !== null) return false;
    last = await complaint(start, url, http2Url, signal);
    // The answer may have come from another process that had the port first.
    if (last === "" && process.exit === null) return true;
    if (performance.now() > end) break;
    await sleep(BETWEEN_LOOKS_MS, undefined, { signal });
  }
  throw new Failure(
    "not-ready",
    `replica ${number} was not ready within ${start.readyMs} ms: ${last}; its last lines:\n${await lastLines(process.log)}`,
  );
}

/** What is not yet as it should be, or "". */
async function complaint(start: Start, url: URL, http2Url: URL | null, signal: AbortSignal): Promise<string> {
  const { ready } = start;
  const outcome = await sendOnce(url, readyRequest(start), { timeoutMs: READY_REQUEST_MS, signal });
  if (outcome.kind !== "responded") return `${ready} got ${lossInWords(outcome, READY_REQUEST_MS)}, expected a 2xx`;
  if (outcome.status < 200 || outcome.status > 299) return `${ready} got ${outcome.status}, expected a 2xx`;
  if (http2Url === null || (await accepts(Number(http2Url.port)))) return "";
  return `${ready} is answered, but nothing listens at \${http2Port} (${http2Url.port})`;
}

function readyRequest({ ready }: Start): HttpRequest {
  const [method = "GET", path = "/"] = ready.split(" ");
  return { method, path, headers: {}, body: "" };
}

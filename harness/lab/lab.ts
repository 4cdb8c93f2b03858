/**
 * Brings up what a run needs around its target, and only what the target's file names; takes everything
 * down again when disposed.
 */
import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import { Failure } from "../fail.ts";
import type { Powers } from "../fault.ts";
import { passwordIn } from "../secrets.ts";
import type { Target, TargetFile } from "../target.ts";
import type { Backends } from "./backend.ts";
import { Keeper } from "./keeper.ts";
import { namesIn } from "./names.ts";
import { startPostgres } from "./postgres.ts";
import { startRedis } from "./redis.ts";
import { type Replica, startReplicas } from "./replicas.ts";

export interface LabOptions extends Partial<Backends> {
  /** Where the logs of everything started are kept. */
  readonly logs: string;
  readonly secrets: readonly string[];
  readonly signal: AbortSignal;
  /** What is being waited for, for the progress line. */
  readonly onStep: (step: string) => void;
}

export interface RunningTarget {
  readonly urls: readonly URL[];
  readonly http2Urls: readonly URL[];
  /** The lab's database, or null. */
  readonly postgres: string | null;
  readonly powers: Powers;
  /** Says which replica has ended, or null while all run. Null always where the harness did not start them. */
  readonly ended: () => string | null;
}

export class Lab implements AsyncDisposable {
  readonly #keeper: Keeper | null;
  readonly target: RunningTarget;

  private constructor(keeper: Keeper | null, target: RunningTarget) {
    this.#keeper = keeper;
    this.target = target;
  }

  static async open(target: Target, options: LabOptions): Promise<Lab> {
    const { file } = target;
    if (file.start === undefined && !needsPostgres(file)) return new Lab(null, alreadyRunning(file));
    await mkdir(options.logs, { recursive: true });
    const keeper = new Keeper();
    try {
      return new Lab(keeper, await bringUp(keeper, target, options));
    } catch (error) {
      await keeper[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#keeper?.[Symbol.asyncDispose]();
  }
}

async function bringUp(keeper: Keeper, target: Target, options: LabOptions): Promise<RunningTarget> {
  const { file } = target;
  const names: Record<string, string> = {};
  let postgres: string | null = null;
  if (needsPostgres(file)) {
    options.onStep("starting PostgreSQL");
    postgres = (await startPostgres(keeper, options.logs, options)).url;
    names["postgres"] = postgres;
  }
  options.signal.throwIfAborted();
  if (namesInStart(file).has("redis")) {
    options.onStep("starting Redis");
    names["redis"] = await startRedis(keeper, options.logs, options);
  }
  if (file.start === undefined) return { ...alreadyRunning(file), postgres };
  options.onStep(`starting ${file.start.replicas} replica(s) of ${file.name}`);
  const replicas = await startReplicas(keeper, {
    start: file.start,
    directory: resolve(target.directory, file.start.directory ?? "."),
    logs: options.logs,
    secrets: [
      ...options.secrets,
      ...Object.values(names)
        .flatMap(passwordIn)
        .filter((text) => text !== ""),
    ],
    hasHttp2: file.http2 !== undefined,
    names,
    signal: options.signal,
  });
  return {
    urls: replicas.map(({ url }) => url),
    http2Urls: replicas.flatMap(({ http2Url }) => (http2Url === null ? [] : [http2Url])),
    postgres,
    powers: powersOver(replicas),
    ended: () => endedReplica(replicas),
  };
}

function alreadyRunning(file: TargetFile): RunningTarget {
  return {
    urls: (file.urls ?? []).map((url) => new URL(url)),
    http2Urls: Array.isArray(file.http2) ? file.http2.map((url) => new URL(url)) : [],
    postgres: null,
    powers: {},
    ended: () => null,
  };
}

function powersOver(replicas: readonly Replica[]): Powers {
  const signal = async (replica: number, name: NodeJS.Signals): Promise<void> => {
    const found = replicas[replica];
    if (found === undefined) throw new Failure("usage", `there is no replica ${replica}`);
    await found.process.signal(name);
  };
  return {
    pause: (replica) => signal(replica, "SIGSTOP"),
    resume: (replica) => signal(replica, "SIGCONT"),
  };
}

function endedReplica(replicas: readonly Replica[]): string | null {
  for (const [number, { process }] of replicas.entries()) {
    if (process.exit === null) continue;
    const { signal, code } = process.exit;
    return `replica ${number} ended with ${signal ?? `exit code ${code}`} (its output is in ${process.log})`;
  }
  return null;
}

function needsPostgres(file: TargetFile): boolean {
  const books = [file.effects, file.records];
  return (
    namesInStart(file).has("postgres") ||
    books.some((source) => source !== undefined && "on" in source && source.on === "postgres")
  );
}

function namesInStart({ start }: TargetFile): ReadonlySet<string> {
  const texts = start === undefined ? [] : [start.prepare ?? "", start.command, ...Object.values(start.env)];
  return new Set(texts.flatMap(namesIn));
}

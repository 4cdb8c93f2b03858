/**
 * Brings up what a run needs around its target, and only what the target's file names; takes everything
 * down again when disposed. A run opens it once for the calm copy of the target, and once for the faulty one.
 */
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { StageName } from "../event.ts";
import { Failure } from "../fail.ts";
import { LINKS, type LinkName, type Powers, type Variables } from "../fault.ts";
import type { LinkState } from "../scenario.ts";
import { passwordIn } from "../secrets.ts";
import type { Target, TargetFile } from "../target.ts";
import type { Backend, Backends } from "./backend.ts";
import type { ClusterTemplate } from "./cluster-template.ts";
import { databasePowers } from "./database-faults.ts";
import { endOf } from "./ended.ts";
import { Failpoints } from "./failpoints.ts";
import { Keeper } from "./keeper.ts";
import { Links } from "./links.ts";
import { namesIn } from "./names.ts";
import { type Postgres, startPostgres } from "./postgres.ts";
import { Processor } from "./processor/processor.ts";
import { startRedis } from "./redis.ts";
import { type Replica, type ReplicasOptions, startReplicas } from "./replicas.ts";
import { RoundTripCounter } from "./round-trips.ts";
import { isSkewed, skewedClock } from "./skewed-clock.ts";
import { startToxiproxy } from "./toxiproxy/toxiproxy.ts";

export interface LabOptions extends Partial<Backends> {
  readonly stage: StageName;
  /** Something is to go through links that faults can touch. */
  readonly usesLinks: boolean;
  /** The database keeps what it commits, as in production, and counts statements; a second start is made, if the file has one. */
  readonly isBench?: boolean;
  /** Shared by the labs of one run. */
  readonly template?: ClusterTemplate;
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
  /** Of the second start without the key layer; empty where there is none. */
  readonly baselineUrls: readonly URL[];
  /** For a bench: replicas whose round trips to the database are counted; null where they cannot be. */
  readonly counted: CountedReplicas | null;
  /** The replicas by way of the client's links; empty where there are none. */
  readonly clientLinks: readonly URL[];
  /** The lab's database, or null. */
  readonly postgres: string | null;
  /** The lab's Redis, or null. */
  readonly redis: string | null;
  readonly processor: Processor | null;
  /** Where faults are placed, or null: the target does not ask. */
  readonly failpoints: Failpoints | null;
  readonly links: Readonly<Record<LinkName, LinkState>>;
  readonly powers: Powers;
  /** Says which replica has ended, or null while all run. Null always where the harness did not start them. */
  readonly ended: () => string | null;
  /** The same of what the lab started beside the target: that is no doing of the target's. */
  readonly labEnded: () => string | null;
}

/** One replica, and one of the second start, that reach the database by way of a counter. They run until `end`. */
export interface CountedReplicas {
  readonly url: URL;
  readonly baselineUrl: URL | null;
  readonly roundTrips: () => number;
  readonly end: () => Promise<void>;
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
    if (file.start === undefined && !needsPostgres(file) && !options.usesLinks) {
      return new Lab(null, alreadyRunning(file));
    }
    const logs = options.stage === "calm" ? options.logs : join(options.logs, options.stage);
    await mkdir(logs, { recursive: true });
    const keeper = new Keeper();
    try {
      return new Lab(keeper, await bringUp(keeper, target, { ...options, logs }));
    } catch (error) {
      await keeper[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.target.failpoints?.[Symbol.asyncDispose]();
    await this.target.counted?.end();
    await this.#keeper?.[Symbol.asyncDispose]();
  }
}

/** What the lab provides beside the target. */
interface Services {
  readonly postgres: Postgres | null;
  readonly processor: Processor | null;
  readonly failpoints: Failpoints | null;
  readonly redis: string | null;
  readonly links: Links | null;
  /** Why there are no links, where some are wanted. */
  readonly lacking: string | null;
  /** Says which of them has ended, or null while all run. */
  readonly ended: () => string | null;
}

async function bringUp(keeper: Keeper, target: Target, options: LabOptions): Promise<RunningTarget> {
  const { file } = target;
  const services = await startServices(keeper, file, options);
  options.signal.throwIfAborted();
  const { ended: labEnded } = services;
  if (file.start === undefined) {
    return withLinks({ ...alreadyRunning(file), postgres: services.postgres?.url ?? null, labEnded }, services);
  }
  options.onStep(`starting ${file.start.replicas} replica(s) of ${file.name}`);
  const ways = await waysOf(services, file.start.replicas);
  const shared = {
    directory: resolve(target.directory, file.start.directory ?? "."),
    logs: options.logs,
    secrets: [
      ...options.secrets,
      ...Object.values(namesOf(services))
        .flatMap(passwordIn)
        .filter((text) => text !== ""),
    ],
    hasHttp2: file.http2 !== undefined,
    names: namesOf(services),
    namesOfReplica: (replica: number) => ways[replica] ?? {},
    signal: options.signal,
  };
  const replicas = await startReplicas(keeper, { ...shared, start: file.start });
  const baseline = options.isBench ? await startBaseline(keeper, file.start, shared) : [];
  const running: RunningTarget = {
    ...alreadyRunning(file),
    urls: replicas.map(({ url }) => url),
    http2Urls: replicas.flatMap(({ http2Url }) => (http2Url === null ? [] : [http2Url])),
    postgres: services.postgres?.url ?? null,
    redis: services.redis,
    processor: services.processor,
    failpoints: services.failpoints,
    powers: powersOver(replicas, services, file.start.redeploy?.env ?? null),
    baselineUrls: baseline.map(({ url }) => url),
    counted: options.isBench ? await startCounted(keeper, file.start, shared, services, options) : null,
    ended: () => endedReplica(replicas) ?? endedReplica(baseline),
    labEnded,
  };
  return withLinks(running, services);
}

type Start = NonNullable<TargetFile["start"]>;

/** The second start: what is prepared is prepared, and what runs beside runs already. */
async function startBaseline(
  keeper: Keeper,
  start: Start,
  shared: Omit<ReplicasOptions, "start">,
): Promise<readonly Replica[]> {
  if (start.baseline === undefined) return [];
  return startAgain(keeper, baselineStart(start), shared, "baseline");
}

function baselineStart({ baseline, ...start }: Start): Start {
  const { command = start.command, env = {} } = baseline ?? {};
  return { ...start, command, env: { ...start.env, ...env } };
}

async function startAgain(
  keeper: Keeper,
  { prepare: _, ...start }: Start,
  shared: Omit<ReplicasOptions, "start">,
  folder: string,
): Promise<readonly Replica[]> {
  const logs = join(shared.logs, folder);
  await mkdir(logs, { recursive: true });
  return startReplicas(keeper, { ...shared, logs, start: { ...start, beside: {} } });
}

/** A server that somebody else runs may want an encrypted connection, which a counter cannot look into. */
async function startCounted(
  keeper: Keeper,
  start: Start,
  shared: Omit<ReplicasOptions, "start">,
  { postgres }: Services,
  { database }: LabOptions,
): Promise<CountedReplicas | null> {
  if (postgres === null || database?.kind === "url") return null;
  const counter = await RoundTripCounter.open(postgres.url);
  const counted = { ...shared, namesOfReplica: () => ({ postgres: counter.url }) };
  const [keyed] = await startAgain(keeper, { ...start, replicas: 1 }, counted, "counted");
  const [plain] =
    start.baseline === undefined
      ? []
      : await startAgain(keeper, { ...baselineStart(start), replicas: 1 }, counted, "counted-baseline");
  if (keyed === undefined) throw new Error("one replica was started");
  let isOver = false;
  return {
    url: keyed.url,
    baselineUrl: plain?.url ?? null,
    roundTrips: () => counter.count,
    end: async () => {
      if (isOver) return;
      isOver = true;
      await Promise.all([keyed.kill(), plain?.kill()]);
      await counter[Symbol.asyncDispose]();
    },
  };
}

async function startServices(keeper: Keeper, file: TargetFile, options: LabOptions): Promise<Services> {
  const named = namesInStart(file);
  const { logs, onStep } = options;
  const ends: (() => string | null)[] = [];
  let links: Links | null = null;
  let lacking: string | null = null;
  if (options.usesLinks) {
    try {
      const toxiproxy = await startToxiproxy(keeper, logs, { ...options, choice: choiceOf(options.toxiproxy) });
      links = new Links(toxiproxy);
      ends.push(toxiproxy.ended);
    } catch (error) {
      if (!(error instanceof Failure && error.code === "unavailable")) throw error;
      lacking = error.message;
    }
  }
  let postgres: Postgres | null = null;
  if (needsPostgres(file)) {
    onStep("starting PostgreSQL");
    postgres = await startPostgres(keeper, logs, options);
    if (postgres.ended) ends.push(postgres.ended);
  }
  options.signal.throwIfAborted();
  let redis: string | null = null;
  if (named.has("redis")) {
    onStep("starting Redis");
    redis = await startRedis(keeper, logs, options);
  }
  const processor = named.has("processor")
    ? await Processor.start(keeper, logs, { ...options, honoursKeys: file.processor?.honoursKeys ?? true })
    : null;
  if (processor !== null) ends.push(processor.ended);
  const failpoints = named.has("failpoints") ? await Failpoints.open() : null;
  const ended = (): string | null => ends.map((one) => one()).find((one) => one !== null) ?? null;
  return { postgres, processor, failpoints, redis, links, lacking, ended };
}

function choiceOf(backend: Backend | undefined): string | undefined {
  return backend?.kind === "url" ? backend.url : backend?.kind;
}

function namesOf({ postgres, processor, failpoints, redis }: Services): Record<string, string> {
  const values = {
    postgres: postgres?.url ?? null,
    redis,
    processor: processor?.url ?? null,
    failpoints: failpoints?.url ?? null,
  };
  return Object.fromEntries(Object.entries(values).filter((one): one is [string, string] => one[1] !== null));
}

/** For each replica the addresses by which it reaches database and processor over links of its own. */
async function waysOf({ links, postgres, processor }: Services, replicas: number): Promise<Record<string, string>[]> {
  if (links === null) return [];
  return Promise.all(
    Array.from({ length: replicas }, async (_, replica) => {
      const ways: Record<string, string> = {};
      if (postgres !== null) ways["postgres"] = (await links.through("database", replica, new URL(postgres.url))).href;
      if (processor !== null) {
        ways["processor"] = (await links.through("processor", replica, new URL(processor.url))).origin;
      }
      return ways;
    }),
  );
}

/** Adds the client's links, and says of each link whether it is there. */
async function withLinks(
  running: RunningTarget,
  { links, lacking, postgres, processor }: Services,
): Promise<RunningTarget> {
  const exists = { client: true, database: postgres !== null, processor: processor !== null };
  const stateOf = (name: LinkName): LinkState => {
    if (!exists[name]) return "absent";
    if (links !== null) return "there";
    return lacking === null ? "absent" : { lacking };
  };
  const states = Object.fromEntries(LINKS.map((name) => [name, stateOf(name)])) as Record<LinkName, LinkState>;
  if (links === null) return { ...running, links: states };
  const clientLinks = await Promise.all(
    running.urls.map((url, replica) => (url.protocol === "http:" ? links.through("client", replica, url) : url)),
  );
  const powers: Powers = { ...running.powers, link: (name, replica) => links.get(name, replica) };
  return { ...running, clientLinks, links: states, powers };
}

function alreadyRunning(file: TargetFile): RunningTarget {
  return {
    urls: (file.urls ?? []).map((url) => new URL(url)),
    http2Urls: Array.isArray(file.http2) ? file.http2.map((url) => new URL(url)) : [],
    baselineUrls: [],
    counted: null,
    clientLinks: [],
    postgres: null,
    redis: null,
    processor: null,
    failpoints: null,
    links: { client: "absent", database: "absent", processor: "absent" },
    powers: {},
    ended: () => null,
    labEnded: () => null,
  };
}

function powersOver(
  replicas: readonly Replica[],
  { processor, postgres }: Services,
  redeployed: Variables | null,
): Powers {
  const at = (number: number): Replica => {
    const found = replicas[number];
    if (found === undefined) throw new Failure("usage", `there is no replica ${number}`);
    return found;
  };
  const skewed = skewedClock();
  return {
    pause: (replica) => at(replica).process.signal("SIGSTOP"),
    resume: (replica) => at(replica).process.signal("SIGCONT"),
    kill: (replica) => at(replica).kill(),
    stop: (replica) => at(replica).stop(),
    restart: (replica, env) => at(replica).restart(env),
    ...(redeployed === null ? {} : { redeployed }),
    ...(skewed === null
      ? {}
      : {
          skewedClock: {
            env: skewed,
            isWrong: async (replica) => {
              const told = await at(replica).clock();
              return told === null ? null : isSkewed(told, new Date());
            },
          },
        }),
    ...(processor === null ? {} : { instruct: (reference, behaviours) => processor.instruct(reference, behaviours) }),
    ...(postgres === null ? {} : { database: databasePowers(postgres) }),
  };
}

function endedReplica(replicas: readonly Replica[]): string | null {
  for (const [number, { process, isKilled }] of replicas.entries()) {
    const end = isKilled ? null : endOf(`replica ${number}`, process);
    if (end !== null) return end;
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
  const texts =
    start === undefined
      ? []
      : [
          start.prepare ?? "",
          start.command,
          start.baseline?.command ?? "",
          ...Object.values(start.beside),
          ...Object.values(start.env),
          ...Object.values(start.baseline?.env ?? {}),
          ...Object.values(start.redeploy?.env ?? {}),
        ];
  return new Set(texts.flatMap(namesIn));
}

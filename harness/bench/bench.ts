/**
 * A bench, from targets to its report: bring up the lab of each, count exact costs one request at a time, play
 * the schedule against all of them at once, read their books, take everything down, judge what was recorded, and
 * make figures of what was measured.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ending } from "../event.ts";
import { Failure, messageOf } from "../fail.ts";
import type { Invariant } from "../invariant.ts";
import type { InvariantId } from "../invariants/list.ts";
import { Journal, readHistory } from "../journal.ts";
import { judge } from "../judge.ts";
import { type Backends, urlOf } from "../lab/backend.ts";
import { Lab, type RunningTarget } from "../lab/lab.ts";
import { BooksProbe } from "../probes/books.ts";
import { checkPlainRequest } from "../readiness.ts";
import { emptyOf } from "../report-directory.ts";
import { type Progress, readBooks } from "../run.ts";
import { runFactsOf } from "../run-facts.ts";
import { redacted, secretsOf } from "../secrets.ts";
import type { Stage } from "../stage.ts";
import type { Target } from "../target.ts";
import type { BenchClass } from "./bench-class.ts";
import type { BenchReport } from "./bench-report.ts";
import { checkFill, measureCleanup } from "./cleanup.ts";
import type { CleanupReport } from "./cleanup-report.ts";
import { type Choices, type Contender, contenderOf } from "./contender.ts";
import { CostMeter, type Costs, isDurable } from "./costs.ts";
import { exchange, type Generated, generate, type Lane } from "./generator.ts";
import { withHolders } from "./holders.ts";
import { newMeasurement } from "./measurements.ts";
import { RedisCounter } from "./redis-commands.ts";
import { benchReportOf, type Measured } from "./report-of.ts";
import { costsOf, type Meters } from "./request-costs.ts";
import { blocksIn, type Load, type Slot, scheduleOf } from "./schedule.ts";
import { Sender } from "./sender.ts";
import { type MeasuredStorage, measureStorage } from "./storage.ts";
import type { Volume } from "./storage-report.ts";
import type { Threshold } from "./threshold.ts";
import { BENCH_SCENARIO, type ReplicaNumbers, Traffic } from "./traffic.ts";

export interface BenchOptions {
  readonly load: Load;
  /** What storage is projected to. */
  readonly volume: Volume;
  /** Records that are put there to expire; null: the cleanup is not looked at. */
  readonly expired: number | null;
  readonly choices: Choices;
  readonly thresholds: readonly Threshold[];
  /** At p99; a generator that is later than this measures itself. */
  readonly lateMicrosMax: number;
  readonly backends?: Partial<Backends>;
  readonly timeoutMs: number;
  readonly directory: string;
  readonly version: string;
  readonly command: string;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

/** Files that an earlier bench left, whose figures must not pass for this one's. */
const OWN_FILES = [
  "bench.json",
  "bench.md",
  "percentiles.svg",
  "differences.svg",
  "storage.svg",
  "history.ndjson",
  "logs",
];
/** At this many in flight a target is far behind; more would only fill the memory. */
const IN_FLIGHT_MIN = 1_000;
const IN_FLIGHT_SECONDS = 2;
/** Single requests of each class, for the exact costs. */
const COST_REQUESTS = 16;
/** Each waits for a slow handler. */
const COST_CONFLICTS = 5;
/** Keys that are there before the load begins, for the first replays. */
const PRIMED = 3;
const PROGRESS_MS = 2_000;
const NO_DATABASE = "exact costs were not measured: the target does not use the lab's database (${postgres})";

/** Throws a `Failure` when the bench could not even begin. */
export async function bench(
  targets: readonly Target[],
  invariants: readonly Invariant[],
  options: BenchOptions,
): Promise<BenchReport> {
  const contenders = targets.map((target) => contenderOf(target, options.choices));
  checkNames(contenders);
  const slots = scheduleOf(
    contenders.flatMap(({ classes }, target) => classes.map((one) => ({ target, class: one }))),
    options.load,
  );
  const startedAt = new Date();
  const began = performance.now();
  const now = (): number => Math.round((performance.now() - began) * 1000);
  const entries: Entry[] = [];
  let generated: Generated | null = null;
  try {
    for (const contender of contenders) entries.push(await Entry.open(contender, contenders.length > 1, now, options));
    for (const entry of entries) await entry.begin(options);
    generated = await underLoad(entries, slots, options);
    // One after the other: what cleans up in one database is felt in all others on this machine.
    for (const entry of entries) await entry.measureCleanup(options);
    options.progress.step("waiting until the system is quiet");
    for (const { stage } of entries) await readBooks(stage);
    for (const entry of entries) entry.end(options.signal.aborted ? "interrupted" : "done", null);
  } catch (error) {
    if (generated === null) throw error;
    const ending = options.signal.aborted ? "interrupted" : "failed";
    for (const entry of entries) entry.end(ending, redacted(messageOf(error), entry.stage.secrets));
  } finally {
    options.progress.step("taking the lab down");
    await Promise.all(entries.map((entry) => entry[Symbol.asyncDispose]()));
  }
  options.progress.step("judging");
  const measured: Measured[] = [];
  for (const entry of entries) {
    const { contender, lane, costs, costsNote, storage, cleanup, history } = entry;
    const judgement = judge(await readHistory(join(options.directory, history)), invariants);
    const { measurements } = lane;
    measured.push({ contender, measurements, costs, costsNote, storage, cleanup, history, judgement });
  }
  return benchReportOf(measured, generated, blocksIn(slots), {
    ...options,
    startedAt,
    durationMs: Math.round(now() / 1000),
  });
}

function checkNames(contenders: readonly Contender[]): void {
  const names = contenders.map(({ target }) => target.file.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new Failure("usage", `found two targets of the name ${twice}, expected names that tell them apart`);
  }
}

interface Places {
  readonly urls: readonly URL[];
  readonly underLoad: ReplicaNumbers;
  /** Those whose round trips are counted, where there are any. */
  readonly counted: ReplicaNumbers;
}

/** All in one list, by whose numbers the history names them; without a second start the replicas take both. */
function placesOf({ urls, baselineUrls, counted }: RunningTarget): Places {
  const all = [...urls, ...baselineUrls];
  const keyed = [...urls.keys()];
  const underLoad = {
    keyed,
    baseline: baselineUrls.length > 0 ? [...baselineUrls.keys()].map((place) => urls.length + place) : keyed,
  };
  if (counted === null) return { urls: all, underLoad, counted: underLoad };
  const { url, baselineUrl } = counted;
  const first = [all.length];
  return baselineUrl === null
    ? { urls: [...all, url], underLoad, counted: { keyed: first, baseline: first } }
    : { urls: [...all, url, baselineUrl], underLoad, counted: { keyed: first, baseline: [all.length + 1] } };
}

/** One target, with what is open for it. */
class Entry implements AsyncDisposable {
  readonly contender: Contender;
  readonly lane: Lane;
  /** Where its history is, relative to the report's directory. */
  readonly history: string;
  readonly costs = new Map<BenchClass, Costs>();
  costsNote: string | null = null;
  /** Or why there is none. */
  storage: MeasuredStorage | string = "storage was not measured";
  /** Null: nobody asked. */
  cleanup: CleanupReport | string | null = null;
  readonly #lab: Lab;

  private constructor(contender: Contender, lane: Lane, history: string, lab: Lab) {
    this.contender = contender;
    this.lane = lane;
    this.history = history;
    this.#lab = lab;
  }

  static async open(
    contender: Contender,
    isOneOfMany: boolean,
    now: () => number,
    options: BenchOptions,
  ): Promise<Entry> {
    const { target } = contender;
    const { backends = {}, signal, progress, timeoutMs } = options;
    const folder = isOneOfMany ? target.file.name : "";
    const directory = join(options.directory, folder);
    await emptyOf(directory, OWN_FILES);
    const secrets = secretsOf(target.file, Object.values(backends).flatMap(urlOf));
    const shared = { ...backends, logs: join(directory, "logs"), secrets, signal, onStep: progress.step };
    const lab = await Lab.open(target, { ...shared, stage: "calm", usesLinks: false, isBench: true });
    const runId = `ip${randomBytes(4).toString("hex")}`;
    const keys = new Set<string>();
    const books = new BooksProbe({
      file: target.file,
      urls: lab.target.urls,
      postgres: lab.target.postgres,
      processor: lab.target.processor,
      secrets,
      signal,
      isOurs: (reference) => reference.startsWith(runId),
      isOurKey: (key) => keys.has(key),
    });
    const journal = new Journal(join(directory, "history.ndjson"));
    const places = placesOf(lab.target);
    const running = { ...lab.target, urls: places.urls };
    const stage: Stage = {
      name: "calm",
      runId,
      target,
      running,
      journal,
      books,
      secrets,
      now,
      signal,
      timeoutMs,
      keys,
    };
    const traffic = new Traffic(contender, stage, places.underLoad, options.load.seed);
    const measurements = new Map(contender.classes.map((one) => [one, newMeasurement()]));
    return new Entry(contender, { stage, traffic, measurements }, join(folder, "history.ndjson"), lab);
  }

  get stage(): Stage {
    return this.lane.stage;
  }

  /** Readiness, the first lines of the history, exact costs, and keys for the first replays. */
  async begin(options: BenchOptions): Promise<void> {
    const { stage, contender } = this;
    const { postgres } = stage.running;
    if (postgres !== null && !(await isDurable(postgres))) {
      throw new Failure(
        "not-ready",
        "the database runs with fsync off, where a commit costs nothing: what a bench measured there would hold nowhere",
      );
    }
    stage.journal.record({ type: "run", format: 1, at: stage.now(), run: this.#facts(options) });
    await this.#checkWays();
    if (options.expired !== null) await checkFill(this.lane);
    const requirement = "Under load every operation takes effect once, and every key is answered as without load";
    const started = { title: "Bench", requirement, exercises: exercisedBy(contender), stage: "calm" } as const;
    stage.journal.record({ type: "scenario", at: stage.now(), id: BENCH_SCENARIO, state: "started", ...started });
    await using sender = new Sender(options.timeoutMs);
    await this.#prime(sender);
    options.progress.step(`counting what one request of ${contender.target.file.name} costs`);
    await this.#measureCosts(sender);
    // Under load they would only be in the way.
    await stage.running.counted?.end();
    this.storage = await measureStorage(this.lane, contender, sender, options.progress.step);
    // The keys from before may be forgotten by now.
    await this.#prime(sender);
  }

  async #prime(sender: Sender): Promise<void> {
    for (let count = 0; count < PRIMED; count += 1) await this.#send("first-use", sender, null);
  }

  async measureCleanup({ expired, load, timeoutMs, signal, progress }: BenchOptions): Promise<void> {
    if (expired === null || signal.aborted) return;
    await using sender = new Sender(timeoutMs);
    const inFlightMax = inFlightMaxOf(load);
    this.cleanup = await measureCleanup(this.lane, {
      expired,
      load,
      sender,
      inFlightMax,
      signal,
      onStep: progress.step,
    });
  }

  end(ending: Ending, message: string | null): void {
    const { journal, now } = this.stage;
    journal.record({ type: "scenario", at: now(), id: BENCH_SCENARIO, state: "finished" });
    journal.record({ type: "ended", at: now(), ending, message });
  }

  #facts({ version, command, load }: BenchOptions) {
    const facts = runFactsOf(this.stage, { seed: load.seed, version, command });
    const { baseline } = this.contender;
    const own = baseline === null ? undefined : facts.endpoints[baseline];
    if (baseline === null || own === undefined) return facts;
    return { ...facts, endpoints: { ...facts.endpoints, [baseline]: { ...own, isBaseline: true } } };
  }

  async #checkWays(): Promise<void> {
    for (const one of ["first-use", "baseline"] as const) {
      const plan = this.lane.traffic.plan(one, 0, null);
      if (plan !== null) await checkPlainRequest(this.stage, this.lane.traffic.builder, plan);
    }
  }

  async #measureCosts(sender: Sender): Promise<void> {
    const { postgres, redis, counted } = this.stage.running;
    await using commands = redis === null ? null : await RedisCounter.open(redis);
    const meter = postgres === null ? NO_DATABASE : await CostMeter.open(postgres, counted?.roundTrips);
    await using database = typeof meter === "string" ? null : meter;
    if (typeof meter === "string") this.costsNote = meter;
    if (database === null && commands === null) return;
    const places = placesOf(this.#lab.target);
    this.lane.traffic.turnTo(places.counted);
    for (const one of this.contender.classes) {
      this.stage.signal.throwIfAborted();
      if (one === "again") continue;
      this.costs.set(one, await this.#costs({ database, redis: commands }, one, sender));
    }
    this.lane.traffic.turnTo(places.underLoad);
  }

  async #costs(meters: Meters, one: BenchClass, sender: Sender): Promise<Costs> {
    if (one === "conflict") return this.#conflictCosts(meters, sender);
    // The keys from before may be too old to be used again, and what is not sent would seem to cost nothing.
    if (one === "replay" || one === "mismatch") await this.#prime(sender);
    return costsOf(meters, COST_REQUESTS, () => this.#send(one, sender, null));
  }

  /** Each beside a holder of its own, which begins before the count and ends after it. */
  async #conflictCosts(meters: Meters, sender: Sender): Promise<Costs> {
    const { traffic } = this.lane;
    let holder = "";
    let holding: Promise<unknown> = Promise.resolve();
    const before = async (): Promise<void> => {
      holder = traffic.fresh("holder");
      holding = exchange(this.lane, traffic.holder(holder), sender);
      await sleep(this.slowMs * 0.4);
    };
    const after = async (): Promise<void> => void (await holding);
    const counted = await costsOf(meters, COST_CONFLICTS, () => this.#send("conflict", sender, holder), {
      before,
      after,
    });
    // What is in the tables afterwards is the holders'.
    const { "row-bytes": _, "index-bytes": __, "dead-rows": ___, ...own } = counted;
    return own;
  }

  get slowMs(): number {
    return this.contender.target.file.operations[this.contender.operation]?.slow?.ms ?? 0;
  }

  async #send(one: BenchClass, sender: Sender, holder: string | null): Promise<void> {
    const { traffic, stage } = this.lane;
    const plan = traffic.plan(one, stage.now(), holder);
    if (plan === null) return;
    const { outcome, at } = await exchange(this.lane, traffic.builder.build(plan), sender);
    if (one === "first-use" && traffic.belongs(one, outcome)) traffic.remember(plan.operation, at);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lab[Symbol.asyncDispose]();
    await this.stage.journal[Symbol.asyncDispose]();
  }
}

/** What a bench is there to look at, as far as its classes go. */
function exercisedBy({ classes }: Contender): readonly InvariantId[] {
  return [
    "at-most-one-effect",
    "acknowledged-effect-exists",
    "replay-is-identical",
    ...(classes.includes("conflict") ? (["conflict-only-while-in-flight"] as const) : []),
    ...(classes.includes("mismatch") ? (["no-replay-across-mismatch"] as const) : []),
  ];
}

async function underLoad(
  entries: readonly Entry[],
  slots: readonly Slot[],
  { load, signal, progress, timeoutMs }: BenchOptions,
): Promise<Generated> {
  const slowMs = entries.map(({ contender, slowMs }) => (contender.classes.includes("conflict") ? slowMs : null));
  const starts = withHolders(slots, slowMs);
  const lastMs = (starts.at(-1)?.at ?? 0) / 1000;
  let told = -PROGRESS_MS;
  const onStart = (index: number): void => {
    const atMs = (starts[index]?.at ?? 0) / 1000;
    if (atMs - told < PROGRESS_MS) return;
    told = atMs;
    for (const { stage } of entries) {
      const ended = stage.running.labEnded() ?? stage.running.ended();
      if (ended !== null) throw new Failure("target-lost", ended);
    }
    const left = Math.ceil((lastMs - atMs) / 1000);
    progress.scenario(index + 1, starts.length, `requests at ${load.rate} a second, ${left} s left`);
  };
  await using sender = new Sender(timeoutMs);
  return generate(
    starts,
    entries.map(({ lane }) => lane),
    { sender, inFlightMax: inFlightMaxOf(load), signal, onStart },
  );
}

function inFlightMaxOf({ rate }: Load): number {
  return Math.max(IN_FLIGHT_MIN, IN_FLIGHT_SECONDS * rate);
}

/**
 * One run, from a target to its judged history: bring up the lab, try one plain request, play every
 * scenario, read the books when the system is quiet, take everything down, judge what was written.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ending, StageName } from "./event.ts";
import { Failure, messageOf } from "./fail.ts";
import type { Invariant } from "./invariant.ts";
import { Journal, readHistory } from "./journal.ts";
import { type Judgement, judge } from "./judge.ts";
import { type Backends, urlOf } from "./lab/backend.ts";
import { ClusterTemplate } from "./lab/cluster-template.ts";
import { Lab, type RunningTarget } from "./lab/lab.ts";
import type { RunSize } from "./plan-context.ts";
import { BooksProbe } from "./probes/books.ts";
import { playAll, type Stages } from "./programme.ts";
import { checkPlainRequests } from "./readiness.ts";
import type { Recipe } from "./recipe.ts";
import { emptyOf } from "./report-directory.ts";
import { runFactsOf } from "./run-facts.ts";
import type { Scenario } from "./scenario.ts";
import { redacted, secretsOf } from "./secrets.ts";
import type { Stage } from "./stage.ts";
import type { Target } from "./target.ts";

/** Longest wait for the books to stand still at the end. */
const QUIET_WITHIN_MS = 10_000;

export interface RunOptions {
  readonly size: RunSize;
  /** Where the lab takes its parts from. */
  readonly backends?: Partial<Backends>;
  readonly timeoutMs: number;
  readonly directory: string;
  readonly version: string;
  /** The command line that repeats the run. */
  readonly command: string;
  /** How one violation of it is replayed; without one, none can be. */
  readonly recipe?: Recipe;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

export interface Progress {
  step(text: string): void;
  scenario(number: number, of: number, title: string): void;
}

/** A run that fails before its verdict must not leave the verdict of an earlier one in its place. */
const OWN_FILES = ["history.ndjson", "report.json", "junit.xml", "report.md", "logs"];

/** Throws a `Failure` when the run could not even begin; once it has begun, whatever happens is in the judgement. */
export async function run(
  target: Target,
  scenarios: readonly Scenario[],
  invariants: readonly Invariant[],
  options: RunOptions,
): Promise<Judgement> {
  const path = join(options.directory, "history.ndjson");
  await emptyOf(options.directory, OWN_FILES);
  const secrets = secretsOf(target.file, Object.values(options.backends ?? {}).flatMap(urlOf));
  {
    await using labs = await openLabs(target, scenarios, secrets, options);
    await using journal = new Journal(path);
    const stages = setStages(target, labs, journal, secrets, options);
    const { calm } = stages;
    journal.record({
      type: "run",
      format: 1,
      at: calm.now(),
      run: runFactsOf(calm, { ...options, seed: options.size.seed }),
    });
    await checkPlainRequests(calm);
    const { ending, message } = await playToTheEnd(stages, scenarios, options);
    options.progress.step("waiting until the system is quiet");
    await Promise.all([calm, ...stages.faulty].map(readBooks));
    const isCut = options.signal.aborted;
    journal.record({ type: "ended", at: calm.now(), ending: isCut ? "interrupted" : ending, message });
    options.progress.step("taking the lab down");
  }
  options.progress.step("judging");
  return judge(await readHistory(path), invariants);
}

/** What copies save is waiting for leases; what each costs is its start, which a quick run has little of. */
const FAULTY_COPIES_MAX = { usual: 3, quick: 1 };

/** The lab of the calm copy, and those of the faulty ones. */
class Labs implements AsyncDisposable {
  readonly calm: Lab;
  readonly faulty: readonly Lab[];

  constructor(calm: Lab, faulty: readonly Lab[]) {
    this.calm = calm;
    this.faulty = faulty;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.calm, ...this.faulty].map((lab) => lab[Symbol.asyncDispose]()));
  }
}

async function openLabs(
  target: Target,
  scenarios: readonly Scenario[],
  secrets: readonly string[],
  { directory, backends, size, signal, progress }: RunOptions,
): Promise<Labs> {
  const shared = {
    ...backends,
    template: new ClusterTemplate(),
    logs: join(directory, "logs"),
    secrets,
    signal,
    onStep: progress.step,
  };
  const apart = scenarios.filter(({ faulty }) => faulty);
  const usesLinks = apart.some((scenario) => scenario.usesLinks);
  // One that the lab does not start exists once, and nothing but its clients' links can be disturbed.
  const copiesMax = FAULTY_COPIES_MAX[size.takesTurns ? "quick" : "usual"];
  const copies = target.file.start === undefined ? 1 : copiesMax;
  const names = Array.from({ length: Math.min(copies, apart.length) }, (_, index) => `faulty-${index + 1}` as const);
  const opening = [Lab.open(target, { ...shared, stage: "calm", usesLinks: false })];
  for (const stage of names) {
    // What is to run once before the replicas may not run twice at once.
    if (target.file.start?.prepare !== undefined) await Promise.allSettled(opening);
    opening.push(Lab.open(target, { ...shared, stage, usesLinks }));
  }
  const settled = await Promise.allSettled(opening);
  const [calm, ...faulty] = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = settled.find((one) => one.status === "rejected");
  if (calm !== undefined && failed === undefined) return new Labs(calm, faulty);
  await Promise.all([calm, ...faulty].map((lab) => lab?.[Symbol.asyncDispose]()));
  throw failed?.reason;
}

function setStages(
  target: Target,
  { calm, faulty }: Labs,
  journal: Journal,
  secrets: readonly string[],
  options: RunOptions,
): Stages {
  const runId = `ip${randomBytes(4).toString("hex")}`;
  const began = performance.now();
  const now = (): number => Math.round((performance.now() - began) * 1000);
  const set = (name: StageName, running: RunningTarget): Stage => {
    const keys = new Set<string>();
    const books = new BooksProbe({
      file: target.file,
      urls: running.urls,
      postgres: running.postgres,
      processor: running.processor,
      secrets,
      signal: options.signal,
      isOurs: (reference) => reference.startsWith(runId),
      isOurKey: (key) => keys.has(key),
    });
    const { signal, timeoutMs } = options;
    return { name, runId, target, running, journal, books, secrets, now, signal, timeoutMs, keys };
  };
  return {
    calm: set("calm", calm.target),
    faulty: faulty.map((lab, index) => set(`faulty-${index + 1}`, lab.target)),
  };
}

/** However the playing ends, the run goes on to read the books and to judge what there is. */
async function playToTheEnd(
  stages: Stages,
  scenarios: readonly Scenario[],
  { size, progress, signal }: RunOptions,
): Promise<{ ending: Ending; message: string | null }> {
  try {
    await playAll(stages, scenarios, size, progress.scenario);
    return { ending: "done", message: null };
  } catch (error) {
    if (signal.aborted) return { ending: "interrupted", message: null };
    const ending = error instanceof Failure && error.code === "target-lost" ? "target-lost" : "failed";
    return { ending, message: redacted(messageOf(error), stages.calm.secrets) };
  }
}

/** The last reading of a stage: when it is quiet, or as quiet as it gets. */
export async function readBooks({ name, target, books, journal, signal, now }: Stage): Promise<void> {
  // Who interrupts a run does not wait for it to become quiet.
  if (!books.exists || signal.aborted) return;
  try {
    // A handler whose client hung up may still be at work, for as long as the target can be asked to take.
    const slowestMs = Math.max(0, ...Object.values(target.file.operations).map(({ slow }) => slow?.ms ?? 0));
    await sleep(slowestMs, undefined, { signal });
    const last = await books.readWhenQuiet(QUIET_WITHIN_MS);
    journal.record({ type: "observed", at: now(), scenario: null, stage: name, books: last });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

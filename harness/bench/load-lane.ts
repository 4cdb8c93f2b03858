/** A lane to a target that runs, with all that a bench has: a stage, a journal, traffic. Every attempt is recorded. */
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { Journal } from "../journal.ts";
import { Lab } from "../lab/lab.ts";
import { BooksProbe } from "../probes/books.ts";
import { runFactsOf } from "../run-facts.ts";
import { secretsOf } from "../secrets.ts";
import type { Stage } from "../stage.ts";
import { contenderOf } from "./contender.ts";
import type { Lane } from "./generator.ts";
import type { LoadTarget } from "./load-target.ts";
import { newMeasurement } from "./measurements.ts";
import { BENCH_SCENARIO, Traffic } from "./traffic.ts";

const SEED = 1;

export class LoadLane implements AsyncDisposable {
  readonly lane: Lane;
  readonly #path: string;

  private constructor(lane: Lane, path: string) {
    this.lane = lane;
    this.#path = path;
  }

  static async open({ target: running }: LoadTarget, path: string, timeoutMs: number): Promise<LoadLane> {
    const contender = contenderOf(running, { again: false });
    const { target } = contender;
    const secrets = secretsOf(target.file);
    const { signal } = new AbortController();
    const lab = await Lab.open(target, {
      stage: "calm",
      usesLinks: false,
      logs: "",
      secrets,
      signal,
      onStep: () => undefined,
    });
    const began = performance.now();
    const keys = new Set<string>();
    const stage: Stage = {
      name: "calm",
      runId: `ip${randomBytes(4).toString("hex")}`,
      target,
      running: lab.target,
      journal: new Journal(path),
      books: new BooksProbe({
        file: target.file,
        urls: lab.target.urls,
        postgres: null,
        secrets,
        signal,
        isOurs: () => false,
        isOurKey: () => false,
      }),
      secrets,
      now: () => Math.round((performance.now() - began) * 1000),
      signal,
      timeoutMs,
      keys,
    };
    const traffic = new Traffic(contender, stage, { keyed: [0], baseline: [] }, SEED);
    const lane = { stage, traffic, measurements: new Map([["first-use", newMeasurement()] as const]) };
    const run = runFactsOf(stage, { seed: SEED, version: "0.0.0", command: "npm run bench:load" });
    stage.journal.record({ type: "run", format: 1, at: stage.now(), run });
    stage.journal.record({
      type: "scenario",
      at: stage.now(),
      id: BENCH_SCENARIO,
      state: "started",
      title: "Load",
      requirement: "Every attempt is recorded, however many there are",
      exercises: [],
    });
    return new LoadLane(lane, path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { journal, now } = this.lane.stage;
    journal.record({ type: "scenario", at: now(), id: BENCH_SCENARIO, state: "finished" });
    journal.record({ type: "ended", at: now(), ending: "done", message: null });
    await journal[Symbol.asyncDispose]();
  }

  /** How many attempts the history holds, once it is closed: begun, and with their outcome. */
  async recorded(): Promise<{ readonly invoked: number; readonly completed: number }> {
    const counts = { invoked: 0, completed: 0 };
    for await (const line of createInterface({ input: createReadStream(this.#path) })) {
      const { type } = JSON.parse(line) as { readonly type: string };
      if (type === "invoked" || type === "completed") counts[type] += 1;
    }
    return counts;
  }
}

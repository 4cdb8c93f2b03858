/**
 * Plays a plan and writes down what happened. It knows nothing of right and wrong; the one judgement it
 * makes is whether there is still a target to play against.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { AttemptBuilder, type BuiltAttempt } from "./attempt-builder.ts";
import { burst, type Landed } from "./burst/burst.ts";
import { type Flight, receiptOf } from "./burst/receipt.ts";
import { Disturbance, type DisturbanceOptions } from "./disturbance.ts";
import type { Gate } from "./event.ts";
import { isFinal, RESOLVE_MARGIN_MS } from "./evidence/persistence.ts";
import { Failure } from "./fail.ts";
import type { FaultStep } from "./fault.ts";
import type { Outcome } from "./operation.ts";
import type { AttemptPlan, Scenario, Step } from "./scenario.ts";
import { redactedOutcome } from "./secrets.ts";
import type { Stage } from "./stage.ts";

/** How often a burst that did not overlap is repeated before it counts as one that never does. */
const BURST_TRIES = 5;
/** Where the contract is silent on the lease. */
const LEASE_UNKNOWN_MS = 10_000;
/** A client waits this long when it is not told how long. */
const RETRY_MS = 100;
/** A client does not obey a longer wait in a test. */
const RETRY_AFTER_MAX_MS = 5_000;
/** So many attempts in a row without any answer, and there is no target left. A timeout weighs more: it costs more. */
const LOST_WEIGHT = 60;
const TIMEOUT_WEIGHT = 20;

export async function play(stage: Stage, scenario: Scenario, steps: readonly Step[]): Promise<void> {
  const player = new Player(stage, scenario.id);
  const { id, title, requirement, exercises } = scenario;
  const started = { id, title, requirement, exercises, stage: stage.name } as const;
  stage.journal.record({ type: "scenario", at: stage.now(), state: "started", ...started });
  try {
    await player.play(steps);
  } finally {
    await player.join();
  }
  stage.journal.record({ type: "scenario", at: stage.now(), id, state: "finished" });
}

class Player {
  readonly #stage: Stage;
  readonly #scenario: string;
  readonly #builder: AttemptBuilder;
  #started: Promise<unknown>[] = [];
  #faults = 0;
  /** How attempts ended that went through the client's link, in order. */
  readonly #throughLink: Outcome[] = [];
  /** Those around the step that is played, the innermost last. */
  readonly #disturbances: Disturbance[] = [];
  #lostWeight = 0;
  /** Operations that have their final answer. */
  readonly #answered = new Set<string>();

  constructor(stage: Stage, scenario: string) {
    this.#stage = stage;
    this.#scenario = scenario;
    this.#builder = new AttemptBuilder(stage, scenario);
  }

  async play(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      this.#stage.signal.throwIfAborted();
      this.#checkTarget();
      await this.#step(step);
    }
  }

  /** Waits for what was started and not waited for. */
  async join(): Promise<void> {
    const started = this.#started;
    this.#started = [];
    await Promise.all(started);
  }

  async #step(step: Step): Promise<void> {
    switch (step.do) {
      case "send":
        for (const plan of this.#chosen(step)) {
          this.#stage.signal.throwIfAborted();
          await this.#fire([this.#builder.build(plan)], "none");
          this.#checkTarget();
        }
        return;
      case "start":
        if (step.until === "final") for (const plan of step.attempts) this.#start(this.#persist(plan));
        else {
          const built = step.attempts.map((plan) => this.#builder.build(plan));
          this.#start(this.#fire(built, "none"));
        }
        return;
      case "join":
        return this.join();
      case "burst":
        return this.#burst(step);
      case "persist":
        await Promise.all(this.#chosen(step).map((plan) => this.#persist(plan)));
        return;
      case "during":
        await this.#during(step);
        return;
      case "while-struck":
        return this.#whileStruck(step);
      case "wait":
        await sleep(step.ms, undefined, { signal: this.#stage.signal });
        return;
      case "until-struck":
        await Promise.all(this.#disturbances.map((disturbance) => disturbance.struck()));
        return;
      case "observe":
        return this.#observe();
    }
  }

  #chosen({ attempts, only }: Extract<Step, { do: "send" | "persist" }>): readonly AttemptPlan[] {
    if (only === undefined) return attempts;
    const begun = attempts.filter((plan) => !this.#builder.isFresh([plan]));
    if (only === "begun") return begun;
    return begun.filter(({ operation }) => !this.#answered.has(this.#builder.namesOf(operation).operation));
  }

  /** A burst is worth something only if it overlapped; if it did not, it is run again under fresh names. */
  async #burst({ attempts: plans, gate, mayMiss }: Extract<Step, { do: "burst" }>): Promise<void> {
    const canRepeat = this.#builder.isFresh(plans);
    for (let tries = 1; ; tries += 1) {
      const built = plans.map((plan) => this.#builder.build(plan));
      const landed = await this.#fire(built, gate);
      const flights = built.map((one, index) => flightOf(one, landed[index]));
      const receipt = receiptOf(this.#scenario, gate, flights, this.#stage.target.file.arrival);
      this.#stage.journal.record({ type: "released", at: this.#stage.now(), receipt });
      this.#checkTarget();
      if (receipt.inFlight >= 2 || plans.length < 2 || mayMiss) return;
      if (!canRepeat || tries >= BURST_TRIES) {
        this.#stage.journal.record({ type: "unraced", at: this.#stage.now(), scenario: this.#scenario, tries });
        return;
      }
      this.#stage.signal.throwIfAborted();
      this.#builder.renew(plans);
    }
  }

  /** A client that repeats its request until it has a final answer, or until no honest lease can still run. */
  async #persist(plan: AttemptPlan): Promise<void> {
    const { contract } = this.#stage.target;
    const leaseMs = contract.leaseMs === "undocumented" ? LEASE_UNKNOWN_MS : contract.leaseMs;
    // The judge counts from invocation to invocation, so the last attempt begins when the time is certainly over.
    const giveUpAt = this.#stage.now() + (leaseMs + RESOLVE_MARGIN_MS + RETRY_MS) * 1000;
    for (;;) {
      const isLast = this.#stage.now() > giveUpAt;
      const built = this.#builder.build(plan, true);
      const [landed] = await this.#fire([built], "none");
      if (landed === undefined || this.#stage.signal.aborted) return;
      if (isFinal(contract, landed.outcome) || isLast) return;
      await sleep(retryAfterMs(landed.outcome), undefined, { signal: this.#stage.signal }).catch(() => undefined);
    }
  }

  async #whileStruck({ strikes }: Extract<Step, { do: "while-struck" }>): Promise<void> {
    const [first] = strikes;
    if (first === undefined) return;
    const takeBack = await Disturbance.prepare(this.#disturbanceBy(first.fault));
    try {
      for (const strike of strikes) {
        if (!(await this.#during(strike, { isPrepared: true, mayMiss: strike !== first }))) return;
      }
    } finally {
      await takeBack();
    }
  }

  /** Resolves to whether the fault struck. */
  async #during(
    { fault, steps }: Extract<Step, { do: "during" }>,
    how: Pick<DisturbanceOptions, "isPrepared" | "mayMiss"> = {},
  ): Promise<boolean> {
    this.#faults += 1;
    const disturbance = await Disturbance.begin({ ...this.#disturbanceBy(fault), ...how });
    this.#disturbances.push(disturbance);
    const before = this.#throughLink.length;
    if (fault.at !== undefined) this.#builder.place(fault.at.operation);
    let hasStruck = false;
    try {
      await this.play(steps);
    } finally {
      hasStruck = await disturbance.heal(this.#throughLink.slice(before));
      this.#disturbances.pop();
    }
    return hasStruck;
  }

  #disturbanceBy(step: FaultStep): DisturbanceOptions {
    return {
      stage: this.#stage,
      scenario: this.#scenario,
      id: `${this.#scenario}/f${this.#faults}`,
      step,
      namesOf: (operation) => this.#builder.namesOf(operation),
    };
  }

  async #observe(): Promise<void> {
    if (!this.#stage.books.exists) return;
    const from = this.#stage.now();
    const books = await this.#stage.books.read();
    this.#stage.journal.record({ type: "observed", at: this.#stage.now(), from, scenario: this.#scenario, books });
  }

  /** Sends attempts together and records how each of them ended, as it ends. */
  async #fire(built: readonly BuiltAttempt[], gate: Gate): Promise<readonly Landed[]> {
    const { journal, running, secrets, now, timeoutMs, signal, target } = this.#stage;
    for (const { attempt } of built) journal.record({ type: "invoked", at: now(), attempt });
    return burst(
      built.map(({ attempt, request, abortAfterMs, isThroughLink }) => ({
        replica: attempt.replica,
        request,
        abortAfterMs,
        ...(isThroughLink ? { url: linkUrl(running, attempt.replica) } : {}),
      })),
      { gate, timeoutMs, urls: running.urls, http2Urls: running.http2Urls, now, signal },
      (index, { completedAt, outcome }) => {
        const attemptId = built[index]?.attempt.id ?? "";
        journal.record({ type: "completed", at: completedAt, attemptId, outcome: redactedOutcome(outcome, secrets) });
        const operation = built[index]?.attempt.operation;
        if (operation !== undefined && isFinal(target.contract, outcome)) this.#answered.add(operation);
        if (built[index]?.isThroughLink) this.#throughLink.push(outcome);
        this.#weigh(outcome);
      },
    );
  }

  #weigh(outcome: Outcome): void {
    if (outcome.kind === "responded") this.#lostWeight = 0;
    else if (this.#disturbances.length > 0 || isOwnDoing(outcome)) return;
    else this.#lostWeight += outcome.kind === "indeterminate" && outcome.reason === "timeout" ? TIMEOUT_WEIGHT : 1;
  }

  /** Whoever joins it hears of its failure; before that it must not end the process. */
  #start(work: Promise<unknown>): void {
    work.catch(() => undefined);
    this.#started.push(work);
  }

  #checkTarget(): void {
    const labEnded = this.#stage.running.labEnded();
    if (labEnded !== null) throw new Failure("unavailable", labEnded);
    const ended = this.#stage.running.ended();
    if (ended !== null) throw new Failure("target-lost", ended);
    if (this.#lostWeight >= LOST_WEIGHT) {
      throw new Failure("target-lost", "the target no longer answers: the last attempts in a row got no answer at all");
    }
  }
}

function linkUrl({ clientLinks }: Stage["running"], replica: number): URL {
  const url = clientLinks[replica];
  if (url === undefined) throw new Error(`the plan goes through the link to replica ${replica}, and there is none`);
  return url;
}

function isOwnDoing(outcome: Outcome): boolean {
  return outcome.kind === "indeterminate" && outcome.reason === "aborted";
}

function flightOf({ attempt }: BuiltAttempt, landed: Landed | undefined): Flight {
  if (landed === undefined) throw new Error(`attempt ${attempt.id} has no outcome`);
  const race = JSON.stringify([attempt.caller, attempt.endpoint, attempt.query, attempt.key]);
  return { attemptId: attempt.id, race, replica: attempt.replica, ...landed };
}

/** `Retry-After` as RFC 9110 section 10.2.3 gives it: seconds, or a date. */
function retryAfterMs(outcome: Outcome): number {
  const header = outcome.kind === "responded" ? outcome.headers["retry-after"] : undefined;
  if (header === undefined) return RETRY_MS;
  const seconds = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Math.min(Number.isFinite(seconds) ? Math.max(seconds, RETRY_MS) : RETRY_MS, RETRY_AFTER_MAX_MS);
}

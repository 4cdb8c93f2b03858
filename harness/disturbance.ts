/**
 * A fault of a plan as it is played: injected at once or armed at its place, written down when it is at work,
 * and healed however the steps under it end.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Event } from "./event.ts";
import { Failure } from "./fail.ts";
import { type Cure, type Directive, type FaultStep, type Injected, LOSSY_FAULTS, type Surroundings } from "./fault.ts";
import { inject, prepare } from "./faults/list.ts";
import type { Named } from "./naming.ts";
import type { Outcome } from "./operation.ts";
import type { Stage } from "./stage.ts";

export interface DisturbanceOptions {
  readonly stage: Stage;
  readonly scenario: string;
  /** Unique within the scenario. */
  readonly id: string;
  readonly step: FaultStep;
  readonly namesOf: (operation: string) => Named;
  /** There may be nothing left for it to strike, and that is no gap in what was looked at. */
  readonly mayMiss?: boolean;
  /** What it needs to be there is there. */
  readonly isPrepared?: boolean;
}

type FaultEvent = Extract<Event, { type: "fault" }>;

/** How long a fault is waited for to strike. */
const STRIKE_MS = 2_000;

export class Disturbance {
  readonly #options: DisturbanceOptions;
  #injected: Promise<Injected> | null = null;
  #takeBack: Cure = async () => undefined;
  #replica: number | null;
  #disarm: () => void = () => undefined;
  #strikes: () => void = () => undefined;
  readonly #struck = new Promise<void>((resolve) => {
    this.#strikes = resolve;
  });

  private constructor(options: DisturbanceOptions) {
    this.#options = options;
    this.#replica = options.step.replica ?? null;
  }

  /** For several of one kind, one after another, which are then begun as prepared. */
  static prepare(options: DisturbanceOptions): Promise<Cure> {
    return prepare(options.step, new Disturbance(options).#surroundings());
  }

  static async begin(options: DisturbanceOptions): Promise<Disturbance> {
    const disturbance = new Disturbance(options);
    if (!options.isPrepared) disturbance.#takeBack = await Disturbance.prepare(options);
    try {
      if (options.step.at === undefined) await disturbance.#strike();
      else disturbance.#arm(options.step.at);
    } catch (error) {
      await disturbance.#takeBack();
      throw error;
    }
    return disturbance;
  }

  /** Settles when it has struck, or could have. */
  async struck(): Promise<void> {
    // The client may have given up while its request was still on the way to the phase.
    const timer = new AbortController();
    const tooLong = sleep(STRIKE_MS, undefined, { ref: false, signal: timer.signal }).catch(() => undefined);
    await Promise.race([this.#struck, tooLong]);
    timer.abort();
  }

  /** `outcomes`: of the attempts that went through the client's link meanwhile. Resolves to whether it struck. */
  async heal(outcomes: readonly Outcome[]): Promise<boolean> {
    await this.struck();
    this.#disarm();
    try {
      return this.#injected !== null && (await this.#cure(await this.#injected, outcomes));
    } finally {
      await this.#takeBack();
    }
  }

  async #cure({ heal, isOver }: Injected, outcomes: readonly Outcome[]): Promise<boolean> {
    // The cure of what is over is a disturbance of its own.
    if (isOver) this.#record("injected");
    const struck = await heal();
    this.#record("healed", typeof struck === "string" ? { struck } : {});
    const hasStruck = struck !== false && this.#isFelt(outcomes);
    if (!hasStruck && !this.#options.mayMiss) this.#record("missed");
    return hasStruck;
  }

  /** A fault of the client's link is felt by what goes through it, and one that loses something loses an answer. */
  #isFelt(outcomes: readonly Outcome[]): boolean {
    const { step } = this.#options;
    if (!("link" in step) || step.link !== "client") return true;
    return LOSSY_FAULTS.includes(step.fault) ? outcomes.some(({ kind }) => kind !== "responded") : outcomes.length > 0;
  }

  #arm({ operation, phase, pass }: NonNullable<FaultStep["at"]>): void {
    const { failpoints } = this.#options.stage.running;
    if (failpoints === null) throw new Failure("usage", "the target has no failpoints");
    this.#record("armed");
    this.#disarm = failpoints.arm({ key: this.#options.namesOf(operation).uuid, phase, pass }, async (replica) => {
      this.#replica = this.#options.step.replica ?? replica;
      return this.#strike();
    });
  }

  async #strike(): Promise<Directive> {
    const { stage, step } = this.#options;
    // From here on it may be felt; an attempt that it ends may end before the injection has returned.
    const from = stage.now();
    this.#injected = inject(step, this.#surroundings());
    // Whoever waits for it under an armed fault is the one who heals it.
    this.#injected.catch(() => undefined);
    const { directive, isOver } = await this.#injected;
    this.#record("injected", { from });
    if (isOver) this.#record("healed");
    this.#strikes();
    return directive ?? { do: "go" };
  }

  #surroundings(): Surroundings {
    const { stage, namesOf } = this.#options;
    return {
      powers: stage.running.powers,
      replica: this.#replica ?? 0,
      referenceOf: (operation) => namesOf(operation).reference,
    };
  }

  #record(state: FaultEvent["state"], facts: Pick<FaultEvent, "from" | "struck"> = {}): void {
    const { stage, scenario, id, step, namesOf } = this.#options;
    const operation = step.fault === "processor" ? step.operation : step.at?.operation;
    stage.journal.record({
      type: "fault",
      at: stage.now(),
      scenario,
      id,
      fault: step.fault,
      ...(step.fault === "undisturbed" ? { isControl: true } : {}),
      replica: this.#replica,
      ...(operation === undefined ? {} : { operation: namesOf(operation).operation }),
      ...(step.at === undefined ? {} : { phase: step.at.phase }),
      state,
      ...facts,
    });
  }
}

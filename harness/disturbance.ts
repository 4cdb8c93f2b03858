/**
 * A fault of a plan as it is played: injected at once or armed at its place, written down when it is at work,
 * and healed however the steps under it end.
 */
import type { Event } from "./event.ts";
import { Failure } from "./fail.ts";
import type { Directive, FaultStep, Injected } from "./fault.ts";
import { inject } from "./faults/list.ts";
import type { Named } from "./naming.ts";
import type { Micros } from "./operation.ts";
import type { Stage } from "./stage.ts";

export interface DisturbanceOptions {
  readonly stage: Stage;
  readonly scenario: string;
  /** Unique within the scenario. */
  readonly id: string;
  readonly step: FaultStep;
  readonly namesOf: (operation: string) => Named;
}

export class Disturbance {
  readonly #options: DisturbanceOptions;
  #injected: Promise<Injected> | null = null;
  #replica: number | null;
  #disarm: () => void = () => undefined;

  private constructor(options: DisturbanceOptions) {
    this.#options = options;
    this.#replica = options.step.replica ?? null;
  }

  static async begin(options: DisturbanceOptions): Promise<Disturbance> {
    const disturbance = new Disturbance(options);
    if (options.step.at === undefined) await disturbance.#strike();
    else disturbance.#arm(options.step.at);
    return disturbance;
  }

  async heal(): Promise<void> {
    this.#disarm();
    if (this.#injected === null) return;
    const struck = await (await this.#injected).heal();
    this.#record("healed");
    if (struck === false) this.#record("missed");
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
    const { stage, step, namesOf } = this.#options;
    const from = stage.now();
    this.#injected = inject(step, {
      powers: stage.running.powers,
      replica: this.#replica ?? 0,
      referenceOf: (operation) => namesOf(operation).reference,
    });
    // Whoever waits for it under an armed fault is the one who heals it.
    this.#injected.catch(() => undefined);
    const { directive } = await this.#injected;
    this.#record("injected", from);
    return directive ?? { do: "go" };
  }

  #record(state: Extract<Event, { type: "fault" }>["state"], from?: Micros): void {
    const { stage, scenario, id, step, namesOf } = this.#options;
    const { at } = step;
    const operation = step.fault === "processor" ? step.operation : at?.operation;
    stage.journal.record({
      type: "fault",
      at: stage.now(),
      scenario,
      id,
      fault: step.fault,
      ...(step.fault === "undisturbed" ? { isControl: true } : {}),
      replica: this.#replica,
      ...(operation === undefined ? {} : { operation: namesOf(operation).operation }),
      ...(at === undefined ? {} : { phase: at.phase }),
      state,
      ...(from === undefined ? {} : { from }),
    });
  }
}

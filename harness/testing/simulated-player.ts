/**
 * Plays a plan in virtual time, step for step as `play.ts` does in real time, and records the same events.
 * It is a copy in another kind of time, not a mock: a change of what a step means is made in both.
 */
import { AttemptBuilder, type BuilderStage, type BuiltAttempt } from "../attempt-builder.ts";
import { receiptOf } from "../burst/receipt.ts";
import type { Event, Gate } from "../event.ts";
import { isFinal, RESOLVE_MARGIN_MS } from "../evidence/persistence.ts";
import type { RunningTarget } from "../lab/lab.ts";
import type { Outcome } from "../operation.ts";
import type { AttemptPlan, Step } from "../scenario.ts";
import { redactedOutcome } from "../secrets.ts";
import type { SimulatedBooks } from "./simulated-books.ts";
import type { Landed, SimulatedClient } from "./simulated-client.ts";
import type { Pace } from "./simulated-pace.ts";
import type { SimulatedServer } from "./simulated-server.ts";
import type { Process, Task, VirtualTime } from "./virtual-time.ts";

/** As `play.ts` has them. */
const BURST_TRIES = 5;
const LEASE_UNKNOWN_MS = 10_000;
const RETRY_MS = 100;
const RETRY_AFTER_MAX_MS = 5_000;

export interface SimulatedStage extends BuilderStage {
  readonly running: RunningTarget;
  readonly time: VirtualTime;
  readonly pace: Pace;
  readonly server: SimulatedServer;
  readonly client: SimulatedClient;
  readonly books: SimulatedBooks;
  readonly record: (event: Event) => void;
}

export class SimulatedPlayer {
  readonly #stage: SimulatedStage;
  readonly #scenario: string;
  readonly #builder: AttemptBuilder;
  #started: Task<unknown>[] = [];

  constructor(stage: SimulatedStage, scenario: string) {
    this.#stage = stage;
    this.#scenario = scenario;
    this.#builder = new AttemptBuilder(stage, scenario);
  }

  *play(steps: readonly Step[]): Process {
    for (const step of steps) {
      yield this.#stage.pace.turn();
      yield* this.#step(step);
    }
  }

  *join(): Process {
    const started = this.#started;
    this.#started = [];
    for (const task of started) yield* task.join();
  }

  *#step(step: Step): Process {
    switch (step.do) {
      case "send":
        for (const plan of step.attempts) {
          yield* this.#fire([this.#builder.build(plan)], "none");
          yield this.#stage.pace.turn();
        }
        return;
      case "start": {
        const built = step.attempts.map((plan) => this.#builder.build(plan));
        this.#started.push(this.#stage.time.start(this.#fire(built, "none")));
        return;
      }
      case "join":
        return yield* this.join();
      case "burst":
        return yield* this.#burst(step.attempts, step.gate);
      case "persist": {
        const clients = step.attempts.map((plan) => this.#stage.time.start(this.#persist(plan)));
        for (const client of clients) yield* client.join();
        return;
      }
      case "during":
        return yield* this.#during(step);
      case "wait":
        yield step.ms * 1000;
        return;
      case "observe": {
        const from = this.#stage.time.now;
        const books = yield* this.#stage.books.read();
        this.#record({ type: "observed", from, scenario: this.#scenario, books });
      }
    }
  }

  *#burst(plans: readonly AttemptPlan[], gate: Gate): Process {
    const canRepeat = this.#builder.isFresh(plans);
    for (let tries = 1; ; tries += 1) {
      const built = plans.map((plan) => this.#builder.build(plan));
      const landed = yield* this.#fire(built, gate);
      const flights = landed.map((one, index) => ({ ...flightOf(built[index]), ...one }));
      const receipt = receiptOf(this.#scenario, gate, flights, this.#stage.target.file.arrival);
      this.#record({ type: "released", receipt });
      if (receipt.inFlight >= 2 || plans.length < 2) return;
      if (!canRepeat || tries >= BURST_TRIES) {
        this.#record({ type: "unraced", scenario: this.#scenario, tries });
        return;
      }
      this.#builder.renew(plans);
    }
  }

  *#persist(plan: AttemptPlan): Process {
    const { contract } = this.#stage.target;
    const leaseMs = contract.leaseMs === "undocumented" ? LEASE_UNKNOWN_MS : contract.leaseMs;
    const giveUpAt = this.#stage.time.now + (leaseMs + RESOLVE_MARGIN_MS + RETRY_MS) * 1000;
    for (;;) {
      const isLast = this.#stage.time.now > giveUpAt;
      const built = this.#builder.build(plan, true);
      const [landed] = yield* this.#fire([built], "none");
      if (landed === undefined) return;
      if (isFinal(contract, landed.outcome) || isLast) return;
      yield retryAfterMs(landed.outcome) * 1000;
    }
  }

  *#during({ fault, steps }: Extract<Step, { do: "during" }>): Process {
    const { server, pace } = this.#stage;
    const { replica = 0 } = fault;
    const event = { type: "fault", scenario: this.#scenario, fault: fault.fault, replica } as const;
    server.pause(replica);
    yield pace.turn();
    this.#record({ ...event, state: "injected" });
    yield* this.play(steps);
    server.resume(replica);
    yield pace.turn();
    this.#record({ ...event, state: "healed" });
  }

  *#fire(built: readonly BuiltAttempt[], gate: Gate): Process<readonly Landed[]> {
    const { client, secrets } = this.#stage;
    for (const { attempt } of built) this.#record({ type: "invoked", attempt });
    return yield* client.fire(built, gate !== "none", (index, { outcome }) => {
      const attemptId = built[index]?.attempt.id ?? "";
      this.#record({ type: "completed", attemptId, outcome: redactedOutcome(outcome, secrets) });
    });
  }

  #record(event: WithoutTime<Event>): void {
    this.#stage.record({ ...event, at: this.#stage.time.now });
  }
}

type WithoutTime<Some> = Some extends Event ? Omit<Some, "at"> : never;

function flightOf(built: BuiltAttempt | undefined): { attemptId: string; race: string; replica: number } {
  if (built === undefined) throw new Error("an outcome of no attempt");
  const { id, caller, endpoint, query, key, replica } = built.attempt;
  return { attemptId: id, race: JSON.stringify([caller, endpoint, query, key]), replica };
}

/** The server tells seconds; it never sends a date. */
function retryAfterMs(outcome: Outcome): number {
  const header = outcome.kind === "responded" ? outcome.headers["retry-after"] : undefined;
  return header === undefined ? RETRY_MS : Math.min(Math.max(Number(header) * 1000, RETRY_MS), RETRY_AFTER_MAX_MS);
}

/**
 * The clients and the network between them and the replicas: messages take their time, some are lost, and a
 * client stops waiting at its timeout or when it was told to hang up. What the server makes of that is its affair.
 */

import type { BuiltAttempt } from "../attempt-builder.ts";
import type { Micros, Outcome, Responded } from "../operation.ts";
import type { Random } from "../random.ts";
import type { Pace } from "./simulated-pace.ts";
import type { SimulatedServer } from "./simulated-server.ts";
import { type Process, Task, type VirtualTime } from "./virtual-time.ts";

const TIMEOUT_MS = 10_000;
/** Between the gate and the release, as `burst.ts` has it. */
const SETTLE_MS = 3;

export interface Landed {
  readonly releasedAt: Micros;
  readonly completedAt: Micros;
  readonly outcome: Outcome;
}

export interface ClientOptions {
  readonly time: VirtualTime;
  readonly pace: Pace;
  readonly server: SimulatedServer;
  readonly random: Random;
  readonly loss: number;
}

export class SimulatedClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Sends attempts together; `onLanded` runs for each outcome as it comes. */
  *fire(
    built: readonly BuiltAttempt[],
    isGated: boolean,
    onLanded: (index: number, landed: Landed) => void,
  ): Process<readonly Landed[]> {
    const { time, pace } = this.#options;
    yield pace.network() + (isGated ? SETTLE_MS * 1000 : 0);
    const tasks: Task<Landed>[] = [];
    for (const [index, one] of built.entries()) {
      tasks.push(time.start(this.#land(one, time.now, (landed) => onLanded(index, landed))));
      if (built.length > 1) yield pace.turn();
    }
    const landed: Landed[] = [];
    for (const task of tasks) landed.push(yield* task.join());
    return landed;
  }

  *#land(built: BuiltAttempt, releasedAt: Micros, onLanded: (landed: Landed) => void): Process<Landed> {
    const { time } = this.#options;
    const outcome = yield* this.#outcomeOf(built).join();
    const landed = { releasedAt, completedAt: time.now, outcome };
    onLanded(landed);
    return landed;
  }

  /** What the client sees first. */
  #outcomeOf({ attempt, request, abortAfterMs }: BuiltAttempt): Task<Outcome> {
    const { time, server } = this.#options;
    const outcome = new Task<Outcome>();
    time.start(this.#exchange(outcome, () => server.handle(attempt.replica, request, () => outcome.isDone)));
    time.start(after(TIMEOUT_MS * 1000, () => outcome.settle({ kind: "indeterminate", reason: "timeout" })));
    if (abortAfterMs !== null) {
      time.start(after(abortAfterMs * 1000, () => outcome.settle({ kind: "indeterminate", reason: "aborted" })));
    }
    return outcome;
  }

  *#exchange(outcome: Task<Outcome>, handle: () => Process<Responded | null>): Process {
    const { pace } = this.#options;
    yield pace.network();
    if (this.#isLost()) return outcome.settle(this.#lost());
    const answer = yield* handle();
    if (answer === null) return;
    yield pace.network();
    outcome.settle(this.#isLost() ? this.#lost() : answer);
  }

  #isLost(): boolean {
    return this.#options.random.next() < this.#options.loss;
  }

  #lost(): Outcome {
    return { kind: "indeterminate", reason: this.#options.random.pick(["reset", "closed", "truncated"]) };
  }
}

function* after(delay: Micros, run: () => void): Process {
  yield delay;
  run();
}

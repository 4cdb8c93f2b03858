/** One process of the simulated server: it can be paused in mid-work, and it reaches its store by statements. */
import type { Micros } from "../operation.ts";
import type { Pace } from "./simulated-pace.ts";
import type { KeyIdentity, SimulatedStore } from "./simulated-store.ts";
import { Bell, type Process } from "./virtual-time.ts";

export class SimulatedReplica {
  readonly store: SimulatedStore;
  readonly #pace: Pace;
  readonly #resumed = new Bell();
  #isPaused = false;

  constructor(store: SimulatedStore, pace: Pace) {
    this.store = store;
    this.#pace = pace;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#resumed.ring();
  }

  /** A process that is paused goes on where it was, once it is resumed. */
  *awake(): Process {
    while (this.#isPaused) yield this.#resumed;
  }

  *work(duration: Micros): Process {
    yield duration;
    yield* this.awake();
  }

  /** One atomic step on the store. Once it was sent it happens, whatever becomes of its sender. */
  *statement<Result>(run: () => Result): Process<Result> {
    yield* this.awake();
    yield this.#pace.statement();
    return yield* this.#return(run());
  }

  /** The same for a change of one record: it waits for a transaction that has changed the record. */
  *rowStatement<Result>(identity: KeyIdentity, run: () => Result): Process<Result> {
    yield* this.awake();
    yield this.#pace.statement();
    while (this.store.isLocked(identity)) yield this.store.unlocked;
    return yield* this.#return(run());
  }

  *#return<Result>(result: Result): Process<Result> {
    yield this.#pace.statement();
    yield* this.awake();
    return result;
  }
}

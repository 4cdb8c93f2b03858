/**
 * Virtual time: processes that wait without a clock, so that an hour of races is simulated in a second and
 * the same seed always gives the same hour. A process is a generator. It yields how long it waits, or a bell
 * that it waits for; between two yields nothing else happens, which is what makes a step atomic.
 */
import type { Micros } from "../operation.ts";
import type { Random } from "../random.ts";

export type Process<Result = void> = Generator<Micros | Bell, Result, void>;

/** Wakes all who wait for it, each time it rings. */
export class Bell {
  #waiting: (() => void)[] = [];

  wait(wake: () => void): void {
    this.#waiting.push(wake);
  }

  ring(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}

/** A process that was started: what it gave, once it is done. */
export class Task<Result> {
  readonly #done = new Bell();
  #outcome: { readonly result: Result } | null = null;

  get isDone(): boolean {
    return this.#outcome !== null;
  }

  /** The first result counts. */
  settle(result: Result): void {
    if (this.#outcome !== null) return;
    this.#outcome = { result };
    this.#done.ring();
  }

  *join(): Process<Result> {
    while (this.#outcome === null) yield this.#done;
    return this.#outcome.result;
  }
}

interface Entry {
  readonly at: Micros;
  /** Decides between simultaneous entries, by chance. */
  readonly tie: number;
  readonly run: () => void;
}

export class VirtualTime {
  readonly #agenda = new Agenda();
  readonly #random: Random;
  #now: Micros = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  get now(): Micros {
    return this.#now;
  }

  start<Result>(process: Process<Result>): Task<Result> {
    const task = new Task<Result>();
    const step = (): void => {
      const { done, value } = process.next();
      if (done) task.settle(value);
      else if (typeof value === "number") this.#schedule(value, step);
      else value.wait(() => this.#schedule(0, step));
    };
    this.#schedule(0, step);
    return task;
  }

  /** Runs until the process is done; what else was started stays where it is. */
  run(process: Process): void {
    const main = this.start(process);
    while (!main.isDone) {
      const next = this.#agenda.take();
      if (next === null) throw new Error("every process waits for another one");
      this.#now = next.at;
      next.run();
    }
  }

  #schedule(after: Micros, run: () => void): void {
    if (Number.isNaN(after)) throw new Error("a process waits for a time that is no number");
    this.#agenda.add({ at: this.#now + Math.max(0, Math.round(after)), tie: this.#random.next(), run });
  }
}

/** What is to happen, earliest first: a binary heap. */
class Agenda {
  readonly #heap: Entry[] = [];

  add(entry: Entry): void {
    const heap = this.#heap;
    let place = heap.length;
    heap.push(entry);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, entry)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = entry;
  }

  take(): Entry | null {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) return null;
    if (heap.length > 0) this.#sink(last);
    return first;
  }

  #sink(entry: Entry): void {
    const heap = this.#heap;
    let place = 0;
    for (;;) {
      const left = heap[2 * place + 1];
      const right = heap[2 * place + 2];
      if (left === undefined) break;
      const isRight = right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (isBefore(entry, child)) break;
      heap[place] = child;
      place = 2 * place + (isRight ? 2 : 1);
    }
    heap[place] = entry;
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.at < other.at || (one.at === other.at && one.tie < other.tie);
}

/** A row of the table as the objects that invariants look at, made while someone judges them. */
import type { Recorded } from "../history.ts";
import type { Attempt, Micros, Outcome } from "../operation.ts";
import type { Subject } from "./subjects.ts";

/** By row. Infinity: it never completed. */
export interface Times {
  invokedAt: Float64Array;
  completedAt: Float64Array;
}

/** Its times stay in their columns, where each takes eight bytes. */
export class RecordedInRow implements Recorded {
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  readonly #times: Times;
  readonly #row: number;

  constructor(attempt: Attempt, outcome: Outcome, times: Times, row: number) {
    this.attempt = attempt;
    this.outcome = outcome;
    this.#times = times;
    this.#row = row;
  }

  get invokedAt(): Micros {
    return this.#times.invokedAt[this.#row] ?? 0;
  }

  get completedAt(): Micros {
    return this.#times.completedAt[this.#row] ?? 0;
  }
}

/** An attempt that has most of its values in common with others: as a plain object it takes three times the memory. */
export class AttemptInRow implements Attempt {
  readonly #subject: Subject;
  readonly #id: string | number;
  readonly replica: number;

  constructor(subject: Subject, id: string | number, replica: number) {
    this.#subject = subject;
    this.#id = id;
    this.replica = replica;
  }

  get id(): string {
    return typeof this.#id === "string" ? this.#id : `${this.scenario}#${this.#id}`;
  }

  get scenario(): Attempt["scenario"] {
    return this.#subject.scenario;
  }

  get operation(): Attempt["operation"] {
    return this.#subject.operation;
  }

  get reference(): Attempt["reference"] {
    return this.#subject.reference;
  }

  get endpoint(): Attempt["endpoint"] {
    return this.#subject.endpoint;
  }

  get key(): Attempt["key"] {
    return this.#subject.key;
  }

  get caller(): Attempt["caller"] {
    return this.#subject.caller;
  }

  get query(): Attempt["query"] {
    return this.#subject.query;
  }

  get payload(): Attempt["payload"] {
    return this.#subject.payload;
  }

  get fingerprint(): Attempt["fingerprint"] {
    return this.#subject.fingerprint;
  }

  get condition(): Attempt["condition"] {
    return this.#subject.condition;
  }

  get malformed(): Attempt["malformed"] {
    return this.#subject.malformed;
  }

  get forged(): Attempt["forged"] {
    return this.#subject.forged;
  }

  get persistent(): Attempt["persistent"] {
    return this.#subject.persistent;
  }

  get request(): Attempt["request"] {
    return this.#subject.request;
  }
}

/** A row of the table as the objects that invariants look at, made while someone judges them. */
import type { Recorded } from "../history.ts";
import type { Attempt, Micros, Outcome } from "../operation.ts";
import type { Subject } from "./subject.ts";

/** By row. Infinity: it never completed. */
export interface Times {
  invokedAt: Float64Array;
  completedAt: Float64Array;
}

/**
 * An attempt and its outcome as one object: it has most of its values in common with others, and its times stay in
 * their columns, so that it takes a fifth of the memory of plain objects.
 */
export class AttemptInRow implements Attempt, Recorded {
  readonly #subject: Subject;
  readonly #id: string | number;
  readonly #times: Times;
  readonly #row: number;
  readonly replica: number;
  readonly outcome: Outcome;

  constructor(subject: Subject, id: string | number, replica: number, outcome: Outcome, times: Times, row: number) {
    this.#subject = subject;
    this.#id = id;
    this.#times = times;
    this.#row = row;
    this.replica = replica;
    this.outcome = outcome;
  }

  get attempt(): Attempt {
    return this;
  }

  get invokedAt(): Micros {
    return this.#times.invokedAt[this.#row] ?? 0;
  }

  get completedAt(): Micros {
    return this.#times.completedAt[this.#row] ?? 0;
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

/**
 * The attempts of one scenario as columns, so that a long history fits into memory: times and numbers in typed
 * arrays, and each distinct request and outcome once. `laidOut` makes plain objects of the rows, for as long as someone
 * judges them.
 */
import type { Recorded } from "../history.ts";
import type { Attempt, Micros, Outcome } from "../operation.ts";
import { AnswerBytes } from "./answer-bytes.ts";
import { arranged, type LaidOut } from "./arrangement.ts";
import { NUMBERS, type NumberedId, numberedId } from "./attempt-id.ts";
import { AttemptInRow, type Times } from "./attempt-row.ts";
import type { LineCursor } from "./line-cursor.ts";
import { Outcomes } from "./outcomes.ts";
import type { Subject } from "./subject.ts";
import { Subjects } from "./subjects.ts";

const ROWS_AT_FIRST = 64;
const NEVER_COMPLETED = 0xffffffff;
/** The row was given up: another attempt took its id. */
const NO_SUBJECT = 0xffffffff;
/** The id is none that a run gives, and kept as it is. */
const OTHER_ID = NUMBERS;

const OPEN: Outcome = { kind: "indeterminate", reason: "open" };

export class AttemptTable {
  #rows = 0;
  #completed = 0;
  #dropped = 0;
  readonly #times: Times = {
    invokedAt: new Float64Array(ROWS_AT_FIRST),
    completedAt: new Float64Array(ROWS_AT_FIRST).fill(Infinity),
  };
  /** Which one completed first, second and so on. */
  #turn = new Uint32Array(ROWS_AT_FIRST);
  #subject = new Uint32Array(ROWS_AT_FIRST);
  #outcome = new Uint32Array(ROWS_AT_FIRST);
  #replica = new Uint32Array(ROWS_AT_FIRST);
  #number = new Uint32Array(ROWS_AT_FIRST);
  readonly #otherIds = new Map<number, string>();
  readonly #subjects = new Subjects();
  readonly #outcomes: Outcomes;

  /** `answer`: room for one answer, which all tables of a run may share. */
  constructor(answer = new AnswerBytes()) {
    this.#outcomes = new Outcomes(answer);
  }

  get size(): number {
    return this.#rows - this.#dropped;
  }

  /** Returns the attempt's row. */
  invoked(attempt: Attempt, at: Micros): number {
    const subject = this.#subjects.indexOf(attempt);
    const numbered = attempt.id.startsWith(attempt.scenario) ? numberedId(attempt.id) : null;
    if (numbered?.scenario === attempt.scenario) return this.#add(subject, numbered.number, attempt.replica, at);
    const row = this.#add(subject, OTHER_ID, attempt.replica, at);
    this.#otherIds.set(row, attempt.id);
    return row;
  }

  /**
   * The same of an attempt on a line, from behind its id on; -1: it has to be read as JSON. `operationAt`: where the
   * operation's name begins.
   */
  invokedOnLine(cursor: LineCursor, { scenario, number }: NumberedId, operationAt: number, at: Micros): number {
    const found = this.#subjects.indexOnLine(cursor, scenario, operationAt);
    return found === null ? -1 : this.#add(found.index, number, found.replica, at);
  }

  /** `headers`: names of those that a judge may look at; null: any. */
  completed(row: number, outcome: Outcome, at: Micros, headers: readonly string[] | null): void {
    this.#complete(row, this.#outcomes.indexOf(this.#subject[row] ?? 0, outcome, headers), at);
  }

  /** The same of an outcome on a line, from its beginning on. False: it has to be read as JSON. */
  completedOnLine(row: number, cursor: LineCursor, at: Micros, headers: readonly string[]): boolean {
    const outcome = this.#outcomes.indexOnLine(this.#subject[row] ?? 0, cursor, headers);
    if (outcome >= 0) this.#complete(row, outcome, at);
    return outcome >= 0;
  }

  /** Gives up an attempt that never completed. */
  drop(row: number): void {
    this.#subject[row] = NO_SUBJECT;
    this.#dropped += 1;
  }

  /** Forgets what it compares with. What comes later is kept as well, and takes more memory. */
  close(): void {
    this.#subjects.close();
    this.#outcomes.close();
  }

  /** In order of invocation; at equal times in order of completion. */
  laidOut(): LaidOut {
    const subjects = this.#subjects.all();
    const outcomes = this.#outcomes.all();
    const order = this.#order();
    const attempts = order.map((row) => this.#recorded(row, subjects, outcomes));
    return arranged(
      attempts,
      order.map((row) => this.#subject[row] ?? 0),
    );
  }

  #add(subject: number, number: number, replica: number, at: Micros): number {
    const row = this.#rows;
    if (row === this.#turn.length) this.#grow();
    this.#subject[row] = subject;
    this.#number[row] = number;
    this.#replica[row] = replica;
    this.#times.invokedAt[row] = at;
    this.#turn[row] = NEVER_COMPLETED;
    this.#rows += 1;
    return row;
  }

  #complete(row: number, outcome: number, at: Micros): void {
    this.#outcome[row] = outcome;
    this.#times.completedAt[row] = at;
    this.#turn[row] = this.#completed;
    this.#completed += 1;
  }

  #recorded(row: number, subjects: readonly Subject[], outcomes: readonly Outcome[]): Recorded {
    const subject = subjects[this.#subject[row] ?? 0] as Subject;
    const id = this.#otherIds.get(row) ?? this.#number[row] ?? 0;
    const isOpen = this.#turn[row] === NEVER_COMPLETED;
    const outcome = isOpen ? OPEN : (outcomes[this.#outcome[row] ?? 0] ?? OPEN);
    return new AttemptInRow(subject, id, this.#replica[row] ?? 0, outcome, this.#times, row);
  }

  #order(): readonly number[] {
    const [{ invokedAt }, turn] = [this.#times, this.#turn];
    const order: number[] = [];
    for (let row = 0; row < this.#rows; row += 1) if (this.#subject[row] !== NO_SUBJECT) order.push(row);
    return order.sort(
      (one, other) =>
        (invokedAt[one] ?? 0) - (invokedAt[other] ?? 0) || (turn[one] ?? 0) - (turn[other] ?? 0) || one - other,
    );
  }

  #grow(): void {
    const length = 2 * this.#rows;
    this.#times.invokedAt = grown(this.#times.invokedAt, new Float64Array(length));
    this.#times.completedAt = grown(this.#times.completedAt, new Float64Array(length).fill(Infinity));
    this.#turn = grown(this.#turn, new Uint32Array(length));
    this.#subject = grown(this.#subject, new Uint32Array(length));
    this.#replica = grown(this.#replica, new Uint32Array(length));
    this.#number = grown(this.#number, new Uint32Array(length));
    this.#outcome = grown(this.#outcome, new Uint32Array(length));
  }
}

function grown<Column extends Float64Array | Uint32Array>(column: Column, longer: Column): Column {
  longer.set(column);
  return longer;
}

/**
 * The attempts of one scenario as columns, so that a long history fits into memory: times and numbers in typed
 * arrays, and each distinct request and outcome once. Attempts of one operation differ in little more than their id,
 * replica and times. `laidOut` makes plain objects of the rows, for as long as someone judges them.
 */
import type { Recorded } from "./history.ts";
import { type Attempt, type Headers, type Micros, type Outcome, type Responded, sameBody } from "./operation.ts";

/** What attempts of one operation have in common. */
type Subject = Omit<Attempt, "id" | "replica">;

/** So many answers to one request are compared with a further one; rarely are there more. */
const ANSWERS_COMPARED_MAX = 4;
const ROWS_AT_FIRST = 64;
const NEVER_COMPLETED = 0xffffffff;
/** The row was given up: another attempt took its id. */
const NO_SUBJECT = 0xffffffff;
/** The id is none that a run gives, and kept as it is. */
const OTHER_ID = 0xffffffff;

/** By row. Infinity: it never completed. */
interface Times {
  invokedAt: Float64Array;
  completedAt: Float64Array;
}

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
  readonly #subjects: Subject[] = [];
  readonly #outcomes: Outcome[] = [];
  #interned = new Interned();

  get size(): number {
    return this.#rows - this.#dropped;
  }

  /** Returns the attempt's row. */
  invoked(attempt: Attempt, at: Micros): number {
    const row = this.#rows;
    if (row === this.#turn.length) this.#grow();
    this.#subject[row] = this.#subjectIndex(attempt);
    this.#number[row] = numberIn(attempt) ?? OTHER_ID;
    if (this.#number[row] === OTHER_ID) this.#otherIds.set(row, attempt.id);
    this.#replica[row] = attempt.replica;
    this.#times.invokedAt[row] = at;
    this.#turn[row] = NEVER_COMPLETED;
    this.#rows += 1;
    return row;
  }

  /** `headers`: names of those that a judge may look at; null: any. */
  completed(row: number, outcome: Outcome, at: Micros, headers: readonly string[] | null): void {
    this.#outcome[row] = this.#outcomeIndex(this.#subject[row] ?? 0, outcome, headers);
    this.#times.completedAt[row] = at;
    this.#turn[row] = this.#completed;
    this.#completed += 1;
  }

  /** Gives up an attempt that never completed. */
  drop(row: number): void {
    this.#subject[row] = NO_SUBJECT;
    this.#dropped += 1;
  }

  /** Forgets what it compares with. What comes later is kept as well, and takes more memory. */
  close(): void {
    this.#interned = new Interned();
  }

  /** In order of invocation; at equal times in order of completion. */
  laidOut(): readonly Recorded[] {
    return this.#order().map((row) => this.#recorded(row));
  }

  #recorded(row: number): Recorded {
    const subject = this.#subjects[this.#subject[row] ?? 0] as Subject;
    const id = this.#otherIds.get(row) ?? this.#number[row] ?? 0;
    const isOpen = this.#turn[row] === NEVER_COMPLETED;
    const outcome = isOpen ? OPEN : (this.#outcomes[this.#outcome[row] ?? 0] ?? OPEN);
    const attempt = new AttemptInRow(subject, id, this.#replica[row] ?? 0);
    return new RecordedInRow(attempt, outcome, this.#times, row);
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

  #subjectIndex(attempt: Attempt): number {
    const { subjects } = this.#interned;
    const candidates = subjects.get(attempt.operation) ?? [];
    for (const index of candidates) {
      if (isSameSubject(this.#subjects[index] as Subject, attempt)) return index;
    }
    const index = this.#subjects.length;
    const subject = this.#interned.subject(attempt);
    this.#subjects.push(subject);
    if (candidates.length === 0) subjects.set(subject.operation, candidates);
    candidates.push(index);
    return index;
  }

  #outcomeIndex(subject: number, outcome: Outcome, names: readonly string[] | null): number {
    if (outcome.kind !== "responded") return this.#wordsIndex(outcome);
    const { answersByStatus } = this.#interned;
    const answers = this.#interned.answersTo(subject);
    for (const index of answers) if (isSameAnswer(this.#outcomes[index], outcome, names)) return index;
    const last = answersByStatus.get(outcome.status);
    const isLikeLast = last !== undefined && isSameAnswer(this.#outcomes[last], outcome, names);
    const index = isLikeLast ? last : this.#outcomes.length;
    if (!isLikeLast) {
      const known = answers.map((answer) => this.#outcomes[answer]);
      this.#outcomes.push(this.#interned.answer(outcome, names, known));
      answersByStatus.set(outcome.status, index);
    }
    if (answers.length < ANSWERS_COMPARED_MAX) answers.push(index);
    return index;
  }

  #wordsIndex(outcome: Exclude<Outcome, Responded>): number {
    const { answersByWords } = this.#interned;
    const words = JSON.stringify(outcome);
    const index = answersByWords.get(words) ?? this.#outcomes.length;
    if (index === this.#outcomes.length) this.#outcomes.push(outcome);
    answersByWords.set(words, index);
    return index;
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

/** Its times stay in their columns, where each takes eight bytes. */
class RecordedInRow implements Recorded {
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
class AttemptInRow implements Attempt {
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

function grown<Column extends Float64Array | Uint32Array>(column: Column, longer: Column): Column {
  longer.set(column);
  return longer;
}

/** A run's ids are the scenario's name and a number. Null: another id. */
function numberIn({ id, scenario }: Attempt): number | null {
  if (!id.startsWith(scenario) || id[scenario.length] !== "#") return null;
  const digits = id.slice(scenario.length + 1);
  const number = Number(digits);
  return number < OTHER_ID && String(number) === digits ? number : null;
}

/** Values that were seen before, so that equal ones are one object. */
class Interned {
  /** By operation. */
  readonly subjects = new Map<string, number[]>();
  /** The last answer of each status: answers that say nothing of the operation are all the same. */
  readonly answersByStatus = new Map<number, number>();
  readonly answersByWords = new Map<string, number>();
  /** By subject. */
  readonly #answers = new Map<number, number[]>();
  readonly #texts = new Map<string, string>();

  answersTo(subject: number): number[] {
    const known = this.#answers.get(subject) ?? [];
    this.#answers.set(subject, known);
    return known;
  }

  subject({ request: { method, path, headers, body }, ...attempt }: Attempt): Subject {
    const kept: Record<string, string> = {};
    for (const name in headers) kept[name] = this.#text(headers[name] ?? "");
    // Written out, since a copy by spreading takes more memory.
    return {
      scenario: this.#text(attempt.scenario),
      operation: this.#text(attempt.operation),
      reference: this.#text(attempt.reference),
      endpoint: this.#text(attempt.endpoint),
      key: attempt.key === null ? null : this.#text(attempt.key),
      caller: this.#text(attempt.caller),
      query: attempt.query,
      payload: attempt.payload,
      fingerprint: this.#text(attempt.fingerprint),
      condition: attempt.condition,
      malformed: attempt.malformed,
      forged: attempt.forged,
      persistent: attempt.persistent,
      request: { method, path: this.#text(path), headers: kept, body },
    };
  }

  /** Without the headers that nobody looks at, and with the body of an earlier answer, if it is the same. */
  answer(outcome: Responded, names: readonly string[] | null, known: readonly (Outcome | undefined)[]): Outcome {
    const { status, headers } = outcome;
    let { body } = outcome;
    for (const one of known) if (one?.kind === "responded" && sameBody(one.body, body)) body = one.body;
    if (names === null) return outcome;
    const kept: Record<string, string> = {};
    for (const name of names) {
      const value = headers[name];
      if (value !== undefined) kept[name] = this.#text(value);
    }
    return { kind: "responded", status, headers: kept, body };
  }

  #text(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    this.#texts.set(text, text);
    return text;
  }
}

function isSameSubject(subject: Subject, attempt: Attempt): boolean {
  return (
    subject.key === attempt.key &&
    subject.reference === attempt.reference &&
    subject.fingerprint === attempt.fingerprint &&
    subject.scenario === attempt.scenario &&
    subject.operation === attempt.operation &&
    subject.endpoint === attempt.endpoint &&
    subject.caller === attempt.caller &&
    subject.query === attempt.query &&
    subject.condition === attempt.condition &&
    subject.malformed === attempt.malformed &&
    subject.forged === attempt.forged &&
    subject.persistent === attempt.persistent &&
    isSamePayload(subject.payload, attempt.payload) &&
    isSameRequest(subject.request, attempt.request)
  );
}

/** Payloads are flat, and most are plain. */
function isSamePayload(one: Attempt["payload"], other: Attempt["payload"]): boolean {
  if (one.kind !== other.kind) return false;
  return one.kind === "original" || JSON.stringify(one) === JSON.stringify(other);
}

function isSameRequest(one: Attempt["request"], other: Attempt["request"]): boolean {
  return (
    one.body === other.body &&
    one.path === other.path &&
    one.method === other.method &&
    isSameHeaders(one.headers, other.headers)
  );
}

function isSameHeaders(one: Headers, other: Headers): boolean {
  let count = 0;
  for (const name in other) {
    if (one[name] !== other[name]) return false;
    count += 1;
  }
  for (const _name in one) count -= 1;
  return count === 0;
}

function isSameAnswer(known: Outcome | undefined, outcome: Responded, names: readonly string[] | null): boolean {
  if (known?.kind !== "responded" || known.status !== outcome.status || !sameBody(known.body, outcome.body)) {
    return false;
  }
  if (names === null) return isSameHeaders(known.headers, outcome.headers);
  for (const name of names) if (known.headers[name] !== outcome.headers[name]) return false;
  return true;
}

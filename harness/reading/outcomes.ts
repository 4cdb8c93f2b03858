/**
 * Outcomes of attempts, each distinct one once, with those headers of an answer that a judge may look at. Kept are
 * the bytes of their JSON, so that one that is known is found on a line by them.
 */
import type { Body, Outcome, Responded } from "../operation.ts";
import type { AnswerBytes } from "./answer-bytes.ts";
import { ByteStore } from "./byte-store.ts";
import type { LineCursor } from "./line-cursor.ts";
import { Texts } from "./texts.ts";

/** So many answers to one request are compared with a further one; rarely are there more. */
const ANSWERS_COMPARED_MAX = 4;

/** Where the bytes of one stand. */
interface Kept {
  readonly from: number;
  readonly until: number;
}

export class Outcomes {
  readonly #bytes = new ByteStore();
  /** By index. */
  readonly #kept: Kept[] = [];
  /** Answers to a subject. */
  readonly #bySubject = new Map<number, number[]>();
  /** The last answer of each status: answers that say nothing of the operation are all the same. */
  readonly #byStatus = new Map<number, number>();
  /** Outcomes that are no answers, by their JSON. */
  readonly #byText = new Map<string, number>();
  readonly #answer: AnswerBytes;

  /** `answer`: room for one. */
  constructor(answer: AnswerBytes) {
    this.#answer = answer;
  }

  /** `headers`: names of those that a judge may look at; null: any. */
  indexOf(subject: number, outcome: Outcome, headers: readonly string[] | null): number {
    if (outcome.kind !== "responded") return this.#indexOfText(JSON.stringify(outcome));
    this.#answer.of(withHeaders(outcome, headers));
    const known = this.#known(subject);
    return known >= 0 ? known : this.#addAnswer(subject);
  }

  /** From the beginning of an outcome to the end of its line; -1: not as a journal writes it, or new and no answer. */
  indexOnLine(subject: number, cursor: LineCursor, headers: readonly string[]): number {
    const { bytes, at, until } = cursor;
    // The last byte ends the event.
    if (!this.#answer.onLine(cursor, headers)) return this.#byText.get(bytes.toString("utf8", at, until - 1)) ?? -1;
    const known = this.#known(subject);
    if (known >= 0) return known;
    return isBody(this.#answer.body()) ? this.#addAnswer(subject) : -1;
  }

  /** All of them, by index, made anew. */
  all(): readonly Outcome[] {
    const texts = new Texts();
    return this.#kept.map(({ from, until }) => {
      const outcome = JSON.parse(this.#bytes.text(from, until));
      // Equal bodies, of an answer and its replay, are compared many times.
      if (isBody(outcome.body)) outcome.body.text = texts.one(outcome.body.text);
      return outcome as Outcome;
    });
  }

  /** Forgets what it compares with: what comes later is kept again. */
  close(): void {
    this.#bySubject.clear();
    this.#byStatus.clear();
    this.#byText.clear();
    this.#bytes.trim();
  }

  /** The index of this very answer; -1: not known. */
  #known(subject: number): number {
    const answers = this.#bySubject.get(subject) ?? NONE;
    for (const index of answers) if (this.#isAnswer(index)) return index;
    const last = this.#byStatus.get(this.#answer.status);
    if (last === undefined || !this.#isAnswer(last)) return -1;
    this.#remember(subject, last);
    return last;
  }

  #isAnswer(index: number): boolean {
    const { from = 0, until = 0 } = this.#kept[index] ?? {};
    const { bytes, length } = this.#answer;
    return until - from === length && this.#bytes.isSame(from, until, bytes, 0);
  }

  #addAnswer(subject: number): number {
    const { bytes, length, status } = this.#answer;
    const from = this.#bytes.end;
    this.#bytes.addBytes(bytes, 0, length);
    const index = this.#keep(from);
    this.#byStatus.set(status, index);
    this.#remember(subject, index);
    return index;
  }

  #remember(subject: number, index: number): void {
    const answers = this.#bySubject.get(subject);
    if (answers === undefined) this.#bySubject.set(subject, [index]);
    else if (answers.length < ANSWERS_COMPARED_MAX) answers.push(index);
  }

  #indexOfText(text: string): number {
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const from = this.#bytes.end;
    this.#bytes.add(text);
    const index = this.#keep(from);
    this.#byText.set(text, index);
    return index;
  }

  #keep(from: number): number {
    this.#kept.push({ from, until: this.#bytes.end });
    return this.#kept.length - 1;
  }
}

const NONE: readonly number[] = [];

function withHeaders(answer: Responded, names: readonly string[] | null): Responded {
  if (names === null) return answer;
  const { kind, status, headers, body } = answer;
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = headers[name];
    if (value !== undefined) kept[name] = value;
  }
  return { kind, status, headers: kept, body };
}

function isBody(body: unknown): body is Body {
  if (typeof body !== "object" || body === null) return false;
  return "text" in body && typeof body.text === "string" && "bytes" in body && typeof body.bytes === "number";
}

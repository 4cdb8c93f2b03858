/**
 * Writes a history as a long run would leave it, without playing it: bursts of duplicates of which one executes and
 * the others are told to wait, retries that get the stored answer, other payloads that are refused, answers that
 * are lost, and the last reading of the books. Chance comes from the seed, so it is the same file every time.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import { strict } from "../contracts/strict.ts";
import type { Effect, Event, KeyRecord, RunFacts } from "../event.ts";
import { type Attempt, fingerprintOf, type Outcome, type Payload } from "../operation.ts";
import { type Random, randomOf } from "../random.ts";

export interface HistorySize {
  readonly keys: number;
  readonly attemptsPerKey: number;
  /** All attempts of a key at once: each but one is told to wait, or never answered. */
  readonly isOverlapping: boolean;
  readonly keysPerScenario: number;
  /** One key in so many executes twice, so that there is something to find; 0: none. */
  readonly doubledEvery: number;
}

const LOST_SHARE = 0.1;
const MISMATCH_SHARE = 0.05;
/** Of the lost ones; the client hung up. So many others get lost that a run of that length still proves something. */
const ABORTED_SHARE = 0.7;
/** Keys that are in flight together. */
const KEYS_AT_ONCE = 32;
const BURST_MICROS = 100;
const EXECUTION_MICROS = 20_000;
const RETRY_MICROS = 3_000;
const FLUSHED_CHARACTERS = 4 * 1024 * 1024;
const RUN_ID = "ip5eed0bec";

/** Returns how many attempts the history holds. */
export function writeCheckHistory(path: string, size: HistorySize, seed: number): number {
  const random = randomOf(seed);
  const books: LastBooks = { effects: [], records: [] };
  const lines = new LineFile(path);
  let [at, attempts] = [0, 0];
  lines.write({ type: "run", format: 1, at, run: facts(seed) });
  for (let key = 0; key < size.keys; ) {
    const scenario = `scenario-${Math.floor(key / size.keysPerScenario) + 1}`;
    const until = Math.min(size.keys, key + size.keysPerScenario);
    lines.write({ type: "scenario", at, id: scenario, state: "started", ...WORDS });
    const teller = new Teller(scenario, size, random, books);
    for (; key < until; key += KEYS_AT_ONCE) {
      const events: Event[] = [];
      for (let one = key; one < Math.min(until, key + KEYS_AT_ONCE); one += 1) events.push(...teller.story(one, at));
      events.sort((one, other) => one.at - other.at);
      for (const event of events) lines.write(event);
      at = (events.at(-1)?.at ?? at) + RETRY_MICROS;
    }
    key = until;
    attempts += teller.attempts;
    lines.write({ type: "scenario", at, id: scenario, state: "finished" });
  }
  lines.write({ type: "observed", at, scenario: null, stage: "calm", books: { ...books, quiet: true, failure: null } });
  lines.write({ type: "ended", at, ending: "done", message: null });
  lines.close();
  return attempts;
}

const WORDS = { title: "Duplicates and retries", requirement: "All of it", exercises: ["at-most-one-effect"] } as const;

interface LastBooks {
  readonly effects: Effect[];
  readonly records: KeyRecord[];
}

/** Tells what became of one key after the other. */
class Teller {
  readonly #scenario: string;
  readonly #size: HistorySize;
  readonly #random: Random;
  readonly #books: LastBooks;
  attempts = 0;

  constructor(scenario: string, size: HistorySize, random: Random, books: LastBooks) {
    this.#scenario = scenario;
    this.#size = size;
    this.#random = random;
    this.#books = books;
  }

  story(number: number, from: number): readonly Event[] {
    const random = this.#random;
    const subject = subjectOf(number, random);
    const answers = answersOf(subject);
    const { attemptsPerKey, isOverlapping } = this.#size;
    const count = isOverlapping ? attemptsPerKey : 2 + random.below(2 * attemptsPerKey - 3);
    const atOnce = isOverlapping ? count : 1 + random.below(count);
    const events: Event[] = [];
    const start = from + random.below(BURST_MICROS);
    const end = start + EXECUTION_MICROS;
    for (let index = 0; index < atOnce; index += 1) {
      const at = start + Math.floor((index * BURST_MICROS) / atOnce);
      const isFirst = index === 0;
      const completedAt = isFirst ? end : at + RETRY_MICROS + random.below(EXECUTION_MICROS - 2 * RETRY_MICROS);
      this.#attempt(events, subject, { kind: "original" }, at, completedAt, isFirst ? answers.first : answers.conflict);
    }
    let at = end + RETRY_MICROS;
    for (let index = atOnce; index < count; index += 1, at += 2 * RETRY_MICROS) {
      const isOther = random.next() < MISMATCH_SHARE;
      const payload: Payload = { kind: isOther ? "other" : "original" };
      const outcome = isOther ? answers.mismatch : answers.replay;
      this.#attempt(events, subject, payload, at, at + RETRY_MICROS, outcome);
    }
    this.#enter(subject, number);
    return events;
  }

  #attempt(
    events: Event[],
    subject: Subject,
    payload: Payload,
    at: number,
    completedAt: number,
    answer: Outcome,
  ): void {
    this.attempts += 1;
    const isLost = this.#random.next() < LOST_SHARE;
    const reason = isLost && this.#random.next() < ABORTED_SHARE ? "aborted" : "reset";
    const attempt = attemptOf(
      `${this.#scenario}#${this.attempts}`,
      this.#scenario,
      subject,
      payload,
      this.attempts % 2,
    );
    const outcome: Outcome = isLost ? { kind: "indeterminate", reason } : told(answer, at, completedAt);
    events.push({ type: "invoked", at, attempt });
    events.push({ type: "completed", at: completedAt, attemptId: attempt.id, outcome });
  }

  #enter({ id, key, reference }: Subject, number: number): void {
    const { doubledEvery } = this.#size;
    const effect = { operation: reference, columns: { id, amount: "1999", currency: "usd", item: "book" } };
    this.#books.effects.push(effect);
    if (doubledEvery > 0 && number % doubledEvery === doubledEvery - 1) this.#books.effects.push(effect);
    this.#books.records.push({ key, state: "completed" });
  }
}

/** What all attempts with one key have in common. */
interface Subject {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly reference: string;
  readonly endpoint: "create-order" | "create-refund";
  readonly caller: "alice" | "bob";
}

function subjectOf(number: number, random: Random): Subject {
  const hex = (digits: number): string =>
    random
      .below(2 ** (4 * digits))
      .toString(16)
      .padStart(digits, "0");
  return {
    id: String(number + 1),
    name: `of-many-r${number + 1}`,
    key: `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(6)}${hex(6)}`,
    reference: `${RUN_ID}-${hex(8)}${hex(8)}`,
    endpoint: random.pick(["create-order", "create-refund"]),
    caller: random.pick(["alice", "bob"]),
  };
}

function attemptOf(id: string, scenario: string, subject: Subject, payload: Payload, replica: number): Attempt {
  const { name, key, reference, endpoint, caller } = subject;
  const isOther = payload.kind === "other";
  return {
    id,
    scenario,
    operation: `${scenario}/${name}${isOther ? "-other" : ""}`,
    reference: isOther ? `${reference}-other` : reference,
    endpoint,
    key,
    caller,
    query: "",
    replica,
    payload,
    fingerprint: fingerprintOf(payload, isOther ? `${reference}-other` : reference),
    condition: null,
    malformed: null,
    forged: false,
    persistent: false,
    request: {
      method: "POST",
      path: endpoint === "create-order" ? "/orders" : "/refunds",
      headers: { "content-type": "application/json", authorization: `[${caller}]`, "idempotency-key": key },
      body: JSON.stringify({
        amount: isOther ? 2000 : 1999,
        currency: "usd",
        item: "book",
        reference: isOther ? `${reference}-other` : reference,
      }),
    },
  };
}

function answersOf({ id, reference }: Subject): Record<"first" | "replay" | "conflict" | "mismatch", Outcome> {
  const order = { id, amount: "1999", currency: "usd", item: "book", reference, receipt: Number(id) * 7919 };
  const location = { location: `/orders/${id}` };
  return {
    first: json(201, order, location),
    replay: json(201, order, { ...location, "idempotency-replayed": "true" }),
    conflict: problem("request-in-flight", 409, "A request with this Idempotency-Key is in flight", {
      "retry-after": "1",
    }),
    mismatch: problem("key-of-another-request", 422, "This Idempotency-Key was used with another request", {}),
  };
}

function problem(name: string, status: number, detail: string, headers: Readonly<Record<string, string>>): Outcome {
  const type = `https://example.com/problems/${name}`;
  const asProblem = { "content-type": "application/problem+json; charset=utf-8" };
  return json(status, { type, title: name.replaceAll("-", " "), status, detail }, { ...headers, ...asProblem });
}

function json(status: number, body: unknown, headers: Readonly<Record<string, string>>): Outcome {
  const text = JSON.stringify(body);
  const typed = { "content-type": "application/json; charset=utf-8", ...headers };
  return { kind: "responded", status, headers: typed, body: { text, bytes: text.length } };
}

/** An answer with the headers that are another one's every time. */
function told(outcome: Outcome, at: number, completedAt: number): Outcome {
  if (outcome.kind !== "responded") return outcome;
  const headers = {
    ...outcome.headers,
    "lab-arrived-micros": String(513_000_000 + at),
    "lab-answered-micros": String(513_000_000 + completedAt),
    "content-length": String(outcome.body.bytes),
    date: new Date(Date.UTC(2026, 11, 1) + Math.floor(at / 1000)).toUTCString(),
    connection: "close",
  };
  return { ...outcome, headers };
}

function facts(seed: number): RunFacts {
  const endpoint = { success: [201], invalidStatus: [400], answer: null, slowMs: null };
  return {
    runId: RUN_ID,
    seed,
    startedAt: "2026-12-01T00:00:00Z",
    version: "0.0.0",
    target: "written by the benchmark",
    command: "npm run bench:check",
    urls: ["http://127.0.0.1:1/", "http://127.0.0.1:2/"],
    callers: ["alice", "bob"],
    callerHeaders: { alice: ["authorization"], bob: ["authorization"] },
    endpoints: { "create-order": endpoint, "create-refund": endpoint },
    contract: strict,
    books: { effects: true, records: true },
    completedStates: ["completed"],
  };
}

/** Lines that are written many at a time. */
class LineFile {
  readonly #descriptor: number;
  #waiting: string[] = [];
  #characters = 0;

  constructor(path: string) {
    this.#descriptor = openSync(path, "w");
  }

  write(event: Event): void {
    const line = `${JSON.stringify(event)}\n`;
    this.#waiting.push(line);
    this.#characters += line.length;
    if (this.#characters >= FLUSHED_CHARACTERS) this.#flush();
  }

  close(): void {
    this.#flush();
    closeSync(this.#descriptor);
  }

  #flush(): void {
    const bytes = Buffer.from(this.#waiting.join(""));
    for (let written = 0; written < bytes.length; ) written += writeSync(this.#descriptor, bytes, written);
    this.#waiting = [];
    this.#characters = 0;
  }
}

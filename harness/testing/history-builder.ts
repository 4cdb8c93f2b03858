/** Builds small histories by hand, for tests: every field has a value, a test names only what it is about. */
import type { Account, Call, CallResult, Charge } from "../account.ts";
import type { Contract } from "../contract.ts";
import { strict } from "../contracts/strict.ts";
import type { Books, Effect, Event, KeyRecord, RaceReceipt, RunFacts } from "../event.ts";
import type { History } from "../history.ts";
import { type Attempt, fingerprintOf, type Headers, type Outcome, type Payload } from "../operation.ts";
import { historyOf } from "../reading/history-builder.ts";

export const SCENARIO = "tested";

/** An answer with a JSON body. */
export function answer(status: number, body: unknown = {}, headers: Headers = {}): Outcome {
  const text = JSON.stringify(body);
  return { kind: "responded", status, headers, body: { text, bytes: Buffer.byteLength(text) } };
}

/** The same answer as a store gives it back that keeps JSON as a value: spelled its own way. */
export function respelled(outcome: Outcome): Outcome {
  if (outcome.kind !== "responded") return outcome;
  const text = outcome.body.text.replaceAll(/([:,])/g, "$1 ");
  return { ...outcome, body: { text, bytes: Buffer.byteLength(text) } };
}

export const lost: Outcome = { kind: "indeterminate", reason: "reset" };

/** When a sketch ends and its books are read for the last time. */
const LAST_MS = 1_000;

export interface FaultSketch {
  readonly replica?: number;
  readonly operation?: string;
  readonly phase?: string;
  readonly label?: string;
  readonly isControl?: boolean;
}

export interface CallSketch {
  readonly result: CallResult | "query-in-flight";
  readonly key?: string | null;
  readonly reference?: string;
}

export interface AttemptSketch {
  readonly operation?: string;
  readonly reference?: string;
  readonly key?: string | null;
  readonly caller?: string;
  readonly endpoint?: string;
  readonly query?: string;
  readonly replica?: number;
  readonly payload?: Payload;
  readonly condition?: Attempt["condition"] | undefined;
  readonly malformed?: Attempt["malformed"] | undefined;
  readonly forged?: boolean;
  readonly persistent?: boolean;
  readonly body?: string;
}

/** Times are in milliseconds, for readable tests; the history holds microseconds. */
export class HistorySketch {
  readonly #events: Event[] = [];
  #attempts = 0;
  #contract: Contract = strict;
  #exercises: string[] = [];
  #books: RunFacts["books"] = { effects: true, records: true };
  #account: Account | null = null;
  #last: Books | null = null;
  #answer: Readonly<Record<string, string>> | null = null;

  contract(changes: Partial<Contract>): this {
    this.#contract = { ...this.#contract, ...changes };
    return this;
  }

  exercises(...ids: string[]): this {
    this.#exercises = ids;
    return this;
  }

  withoutBooks(): this {
    this.#books = { effects: false, records: false };
    return this;
  }

  /** Columns of the effects and where the answer shows them. */
  answers(columns: Readonly<Record<string, string>>): this {
    this.#answer = columns;
    return this;
  }

  /** One attempt from its invocation to its outcome; without an end it stays open. */
  attempt(sketch: AttemptSketch, from: number, until: number | null, outcome: Outcome = answer(201)): this {
    this.#attempts += 1;
    const operation = sketch.operation ?? "op";
    const reference = sketch.reference ?? operation;
    const payload = sketch.payload ?? { kind: "original" };
    const attempt: Attempt = {
      id: `a${this.#attempts}`,
      scenario: SCENARIO,
      operation,
      reference,
      endpoint: sketch.endpoint ?? "create",
      key: sketch.key === undefined ? "key" : sketch.key,
      caller: sketch.caller ?? "alice",
      query: sketch.query ?? "",
      replica: sketch.replica ?? 0,
      payload,
      fingerprint: fingerprintOf(payload, reference),
      condition: sketch.condition ?? null,
      malformed: sketch.malformed ?? null,
      forged: sketch.forged ?? false,
      persistent: sketch.persistent ?? false,
      request: { method: "POST", path: "/orders", headers: {}, body: sketch.body ?? JSON.stringify({ reference }) },
    };
    this.#events.push({ type: "invoked", at: from * 1000, attempt });
    if (until !== null) this.#events.push({ type: "completed", at: until * 1000, attemptId: attempt.id, outcome });
    return this;
  }

  receipt(receipt: Partial<RaceReceipt>): this {
    const plain: RaceReceipt = {
      scenario: SCENARIO,
      attempts: [],
      gate: "last-body-byte",
      releaseSpreadMicros: 100,
      arrivalSpreadMicros: 100,
      closestMicros: 10,
      inFlight: 2,
      measuredBy: "target",
      replicas: [0],
    };
    this.#events.push({ type: "released", at: 0, receipt: { ...plain, ...receipt } });
    return this;
  }

  paused(replica: number, from: number, until: number | null): this {
    return this.fault("pause-replica", { replica }, from, until);
  }

  /** A fault at work from one moment to another; without an end it is never healed. */
  fault(fault: string, place: FaultSketch, from: number, until: number | null): this {
    const id = `f${this.#events.length}`;
    const event = { type: "fault", scenario: SCENARIO, id, fault, ...place, replica: place.replica ?? null } as const;
    this.#events.push({ ...event, at: from * 1000, state: "injected" });
    if (until !== null) this.#events.push({ ...event, at: until * 1000, state: "healed" });
    return this;
  }

  /**
   * The processor's account in the last reading, as one word for each call: `charged`, `declined` or another
   * result of a charge call, `found`, `unknown` or `query-in-flight` of a status query. Default key: "derived".
   */
  account(calls: readonly CallSketch[]): this {
    const charges: Charge[] = [];
    const noted = calls.map(({ result, key = "derived", reference = "op" }): Call => {
      const isQuery = result === "found" || result === "unknown" || result === "query-in-flight";
      if (result === "charged" || result === "declined") {
        const status = result === "charged" ? "succeeded" : "declined";
        charges.push({ id: `ch${charges.length}`, key, reference, amount: "1999", currency: "usd", status });
      }
      return {
        kind: isQuery ? "query" : "charge",
        key,
        reference: result === "unknown" ? null : reference,
        result: result === "query-in-flight" ? "in-flight" : result,
        charge: null,
      };
    });
    this.#books = { ...this.#books, downstream: true };
    this.#account = { calls: noted, charges };
    return this;
  }

  /** A reading of the books during the scenario. `from`: when it began, if that was earlier. */
  observed(at: number, effects: readonly Effect[], records: readonly KeyRecord[] = [], from: number = at): this {
    const books = { effects, records, quiet: false, failure: null };
    this.#events.push({ type: "observed", at: at * 1000, from: from * 1000, scenario: SCENARIO, books });
    return this;
  }

  /** The last reading. Without it the effects are unknown. */
  books(
    effects: readonly Effect[],
    { quiet = true, records = [] }: { quiet?: boolean; records?: readonly KeyRecord[] } = {},
  ): this {
    this.#last = { effects, records, quiet, failure: null };
    return this;
  }

  events(): readonly Event[] {
    const account = this.#account === null ? {} : { account: this.#account };
    const last: readonly Event[] =
      this.#last === null
        ? []
        : [{ type: "observed", at: LAST_MS * 1000, scenario: null, books: { ...this.#last, ...account } }];
    const run: RunFacts = {
      runId: "run",
      seed: 1,
      startedAt: "2026-12-01T00:00:00Z",
      version: "0.0.0",
      target: "sketch",
      command: "idemproof run",
      urls: ["http://127.0.0.1:1/"],
      callers: ["alice", "bob"],
      callerHeaders: { alice: [], bob: [] },
      endpoints: {
        create: { success: [201], invalidStatus: [400], answer: this.#answer, slowMs: null },
        refund: { success: [201], invalidStatus: [400], answer: this.#answer, slowMs: null },
        charge: { success: [201], invalidStatus: [400], answer: this.#answer, slowMs: null, isDownstream: true },
        baseline: { success: [201], invalidStatus: [400], answer: this.#answer, slowMs: null, isBaseline: true },
      },
      contract: this.#contract,
      books: this.#books,
      completedStates: ["completed"],
    };
    const exercises = this.#exercises;
    return [
      { type: "run", format: 1, at: 0, run },
      { type: "scenario", at: 0, id: SCENARIO, state: "started", title: "Tested", requirement: "It works", exercises },
      ...this.#events,
      ...last,
      { type: "scenario", at: LAST_MS * 1000, id: SCENARIO, state: "finished" },
      { type: "ended", at: LAST_MS * 1000, ending: "done", message: null },
    ];
  }

  build(): History {
    const [history] = historyOf(this.events()).scenarios;
    if (history === undefined) throw new Error("a sketch has one scenario");
    return history;
  }
}

/** An effect of a reference, with the columns given. */
export function effect(operation: string, columns: Readonly<Record<string, string>> = {}): Effect {
  return { operation, columns };
}

/**
 * A history is what a run recorded, arranged for judging: attempts joined with their outcomes, grouped by
 * effective key and by operation, beside the books. It is built in one pass and never changed.
 */
import type { Account, Call, Charge } from "./account.ts";
import { AttemptTable } from "./attempt-table.ts";
import type { Contract } from "./contract.ts";
import type { Books, Effect, Ending, Event, KeyRecord, RaceReceipt, RunFacts, StageName } from "./event.ts";
import { headersJudged } from "./evidence/answers.ts";
import type { Attempt, Micros, Outcome } from "./operation.ts";

/** An attempt with its outcome. Both may have their values by getters, which no spreading copies: name what you copy. */
export interface Recorded {
  readonly attempt: Attempt;
  readonly invokedAt: Micros;
  /** Infinity for an attempt whose end the history does not hold. */
  readonly completedAt: Micros;
  readonly outcome: Outcome;
}

/** All attempts that a target with separate scopes must treat as one key, in order of invocation. */
export interface KeyGroup {
  readonly key: string;
  readonly caller: string;
  readonly endpoint: string;
  readonly query: string;
  readonly attempts: readonly Recorded[];
}

/** All attempts by which one client wanted one thing, in order of invocation. */
export interface OperationRecord {
  readonly operation: string;
  readonly reference: string;
  readonly attempts: readonly Recorded[];
}

/** A time in which a fault was at work. */
export interface FaultWindow {
  readonly id: string;
  readonly fault: string;
  /** Null: it strikes no single replica. */
  readonly replica: number | null;
  /** Whose operation it struck, and where, if it was placed. */
  readonly operation: string | null;
  readonly phase: string | null;
  /** Before this moment it was not at work. */
  readonly from: Micros;
  /** From this moment on it certainly was. */
  readonly struckAt: Micros;
  readonly until: Micros;
  /** What it struck, in words, where it strikes once and can tell. */
  readonly struck?: string;
}

/** What the processor did for one operation. */
export interface Downstream {
  readonly calls: readonly Call[];
  readonly charges: readonly Charge[];
}

export interface Observation {
  /** When the reading began. What completed before is in all books of this reading. */
  readonly from: Micros;
  readonly at: Micros;
  readonly effects: ReadonlyMap<string, readonly Effect[]> | null;
  readonly records: readonly KeyRecord[] | null;
}

/** The books' last word, or why there is none. `absent`: the target has no books; that is no fault of the run. */
export type GroundTruth<Value> =
  | { readonly known: true; readonly value: Value }
  | { readonly known: false; readonly absent: boolean; readonly reason: string };

export interface ScenarioFacts {
  readonly id: string;
  readonly title: string;
  readonly requirement: string;
  readonly exercises: readonly string[];
  readonly skipped: string | null;
  /** It was skipped because the lab lacks something. */
  readonly isLacking: boolean;
  readonly finished: boolean;
  /** Bursts that never overlapped, however often they were repeated. */
  readonly unraced: number;
}

export interface History {
  readonly run: RunFacts;
  readonly contract: Contract;
  readonly scenario: ScenarioFacts;
  readonly attemptCount: number;
  /** In order of invocation. Of outcomes it has those headers that some invariant looks at. */
  readonly attempts: readonly Recorded[];
  readonly groups: readonly KeyGroup[];
  readonly operations: readonly OperationRecord[];
  readonly receipts: readonly RaceReceipt[];
  readonly faults: readonly FaultWindow[];
  /** Faults that were to strike and never did, in words. */
  readonly missedFaults: readonly string[];
  /** Reads of the books during the scenario, in order. */
  readonly observations: readonly Observation[];
  /** Effects by reference, from the last quiet read of the stage. */
  readonly effects: GroundTruth<ReadonlyMap<string, readonly Effect[]>>;
  /** States of key records by key, from the same reading. */
  readonly records: GroundTruth<ReadonlyMap<string, readonly string[]>>;
  /** What the processor has by reference, from the same reading. */
  readonly downstream: GroundTruth<ReadonlyMap<string, Downstream>>;
  /** When that reading was made; null: never. */
  readonly lastReadAt: Micros | null;
  /**
   * Lets go of attempts, groups and operations, which take far more memory than what they are made of. Whoever asks
   * for them afterwards gets new ones.
   */
  putAway(): void;
}

/** A whole run: one history for each scenario, since no key crosses scenarios. */
export interface RunHistory {
  readonly run: RunFacts | null;
  readonly scenarios: readonly History[];
  readonly durationMs: number;
  readonly attempts: number;
  readonly ending: Ending | "cut";
  readonly endingMessage: string | null;
  /** What could not be read and may have been evidence. */
  readonly damage: readonly string[];
  /** Something is missing before the end, so that what was found may have an explanation that was lost. */
  readonly hasGaps: boolean;
  /** What was passed over without loss, such as events of a type that this version does not know. */
  readonly notes: readonly string[];
}

interface Draft {
  facts: ScenarioFacts;
  stage: StageName;
  readonly attempts: AttemptTable;
  receipts: RaceReceipt[];
  faults: FaultWindow[];
  /** Armed, and not struck yet. */
  armed: Map<string, string>;
  missed: string[];
  observations: { from: Micros; at: Micros; books: Books }[];
}

/** Arranges the events of a run. `damage` is what the reader already had to pass over. */
export function historyOf(events: Iterable<Event>, damage: readonly string[] = []): RunHistory {
  const builder = new HistoryBuilder();
  for (const event of events) builder.add(event);
  return builder.build(damage);
}

export class HistoryBuilder {
  #run: RunFacts | null = null;
  readonly #drafts = new Map<string, Draft>();
  #headers: readonly string[] | null = null;
  readonly #open = new Map<string, { readonly attempts: AttemptTable; readonly row: number }>();
  readonly #finals = new Map<StageName, LastReading>();
  #ending: Ending | "cut" = "cut";
  #endingMessage: string | null = null;
  #last: Micros = 0;
  #orphans = 0;
  readonly #unknown = new Map<string, number>();

  add(event: Event): void {
    this.#last = Math.max(this.#last, event.at);
    switch (event.type) {
      case "run":
        this.#run = event.run;
        this.#headers = headersJudged(event.run.contract);
        return;
      case "scenario":
        this.#scenario(event);
        return;
      case "invoked":
        this.#invoked(event.attempt, event.at);
        return;
      case "completed":
        this.#completed(event.attemptId, event.at, event.outcome);
        return;
      case "released":
        this.#draft(event.receipt.scenario).receipts.push(event.receipt);
        return;
      case "unraced": {
        const draft = this.#draft(event.scenario);
        draft.facts = { ...draft.facts, unraced: draft.facts.unraced + 1 };
        return;
      }
      case "fault":
        this.#fault(event);
        return;
      case "observed":
        if (event.scenario === null) this.#finals.set(event.stage ?? "calm", { at: event.at, books: event.books });
        else this.#observed(event.scenario, event);
        return;
      case "ended":
        this.#ending = event.ending;
        this.#endingMessage = event.message;
        return;
      default: {
        const type = String((event as { type?: unknown }).type);
        this.#unknown.set(type, (this.#unknown.get(type) ?? 0) + 1);
      }
    }
  }

  build(damage: readonly string[] = [], hasGaps = false): RunHistory {
    const notes = [...this.#unknown].map(
      ([type, count]) => `${count} event(s) of the unknown type ${JSON.stringify(type)} were passed over`,
    );
    const run = this.#run;
    const truths = new Map<StageName, Truths>();
    const truthsOf = (stage: StageName, facts: RunFacts): Truths => {
      const known = truths.get(stage) ?? truthsIn(facts, this.#finals.get(stage) ?? null);
      truths.set(stage, known);
      return known;
    };
    const scenarios =
      run === null
        ? []
        : [...this.#drafts.values()].map((draft) => this.#history(run, draft, truthsOf(draft.stage, run)));
    return {
      run,
      scenarios,
      durationMs: Math.round(this.#last / 1000),
      attempts: scenarios.reduce((sum, { attemptCount }) => sum + attemptCount, 0),
      ending: this.#ending,
      endingMessage: this.#endingMessage,
      damage: this.#orphans === 0 ? damage : [...damage, `${this.#orphans} outcome(s) whose attempt is missing`],
      hasGaps: hasGaps || this.#orphans > 0,
      notes,
    };
  }

  #history(run: RunFacts, draft: Draft, truths: Truths): History {
    const { attempts } = draft;
    attempts.close();
    let laidOut: LaidOut | null = null;
    const layOut = (): LaidOut => {
      laidOut ??= arranged(attempts.laidOut());
      return laidOut;
    };
    return {
      run,
      contract: run.contract,
      scenario: draft.facts,
      attemptCount: attempts.size,
      get attempts() {
        return layOut().attempts;
      },
      get groups() {
        return layOut().groups;
      },
      get operations() {
        return layOut().operations;
      },
      putAway() {
        laidOut = null;
      },
      receipts: draft.receipts,
      faults: draft.faults,
      missedFaults: [...draft.missed, ...draft.armed.values()],
      observations: draft.observations.map(({ from, at, books }) => ({
        from,
        at,
        effects: books.effects ? effectsByReference(books.effects) : null,
        records: books.records,
      })),
      ...truths,
    };
  }

  #scenario(event: Extract<Event, { type: "scenario" }>): void {
    const draft = this.#draft(event.id);
    switch (event.state) {
      case "started": {
        const { title, requirement, exercises } = event;
        draft.facts = { ...draft.facts, title, requirement, exercises };
        draft.stage = event.stage ?? "calm";
        return;
      }
      case "skipped":
        draft.facts = {
          ...draft.facts,
          title: event.title,
          skipped: event.reason,
          isLacking: event.isLacking ?? false,
          finished: true,
        };
        return;
      case "finished":
        draft.facts = { ...draft.facts, finished: true };
        draft.attempts.close();
    }
  }

  #invoked(attempt: Attempt, at: Micros): void {
    const { attempts } = this.#draft(attempt.scenario);
    const before = this.#open.get(attempt.id);
    const row = attempts.invoked(attempt, at);
    if (before !== undefined) before.attempts.drop(before.row);
    this.#open.set(attempt.id, { attempts, row });
  }

  #completed(attemptId: string, at: Micros, outcome: Outcome): void {
    const open = this.#open.get(attemptId);
    if (open === undefined) {
      this.#orphans += 1;
      return;
    }
    open.attempts.completed(open.row, outcome, at, this.#headers);
    this.#open.delete(attemptId);
  }

  #fault(event: Extract<Event, { type: "fault" }>): void {
    const draft = this.#draft(event.scenario);
    const { fault, replica, operation = null, phase = null, at: struckAt, from = struckAt } = event;
    const id = event.id ?? `${fault} ${replica}`;
    switch (event.state) {
      case "armed":
        draft.armed.set(id, wordsOn(event));
        return;
      case "injected":
        draft.armed.delete(id);
        if (event.isControl) return;
        draft.faults.push({ id, fault, replica, operation, phase, from, struckAt, until: Infinity });
        return;
      case "missed":
        draft.missed.push(wordsOn(event));
        return;
      case "healed": {
        const index = draft.faults.findLastIndex((window) => window.id === id);
        const window = draft.faults[index];
        const struck = event.struck === undefined ? {} : { struck: event.struck };
        if (window) draft.faults[index] = { ...window, until: event.at, ...struck };
      }
    }
  }

  #observed(scenario: string, { at, from, books }: Extract<Event, { type: "observed" }>): void {
    this.#draft(scenario).observations.push({ from: from ?? at, at, books });
  }

  #draft(id: string): Draft {
    const known = this.#drafts.get(id);
    if (known) return known;
    const facts: ScenarioFacts = {
      id,
      title: id,
      requirement: "",
      exercises: [],
      skipped: null,
      isLacking: false,
      finished: false,
      unraced: 0,
    };
    const draft: Draft = {
      facts,
      stage: "calm",
      attempts: new AttemptTable(),
      receipts: [],
      faults: [],
      armed: new Map(),
      missed: [],
      observations: [],
    };
    this.#drafts.set(id, draft);
    return draft;
  }
}

function wordsOn({ fault, label = fault, operation, phase }: Extract<Event, { type: "fault" }>): string {
  const where = phase === undefined ? "" : ` at ${phase}`;
  return operation === undefined ? `${label}${where}` : `${label}${where} of ${operation}`;
}

interface LastReading {
  readonly at: Micros;
  readonly books: Books;
}

type Truths = Pick<History, "effects" | "records" | "downstream" | "lastReadAt">;

function truthsIn(run: RunFacts, last: LastReading | null): Truths {
  const { books } = run;
  const final = last?.books ?? null;
  return {
    lastReadAt: last?.at ?? null,
    effects: groundTruth(books.effects, final, "effects", final?.effects && effectsByReference(final.effects)),
    records: groundTruth(books.records, final, "key records", final?.records && statesByKey(final.records)),
    downstream: groundTruth(
      books.downstream ?? false,
      final,
      "the processor's account",
      final?.account && downstreamByReference(final.account),
    ),
  };
}

function groundTruth<Value>(
  hasBooks: boolean,
  final: Books | null,
  what: string,
  value: Value | null | undefined,
): GroundTruth<Value> {
  if (!hasBooks) return { known: false, absent: true, reason: `the target file names no books (${what})` };
  if (final === null) return { known: false, absent: false, reason: "the books were never read to the end" };
  if (final.failure !== null) {
    return { known: false, absent: false, reason: `the books could not be read: ${final.failure}` };
  }
  if (!final.quiet) return { known: false, absent: false, reason: "the system never became quiet" };
  if (value === null || value === undefined) {
    return { known: false, absent: false, reason: `the last reading holds no ${what}` };
  }
  return { known: true, value };
}

function statesByKey(records: readonly KeyRecord[]): ReadonlyMap<string, readonly string[]> {
  const byKey = new Map<string, readonly string[]>();
  // Almost every key has one record: those of equal states share one list.
  const alone = new Map<string, readonly string[]>();
  for (const { key, state } of records) {
    const known = byKey.get(key);
    const own = alone.get(state) ?? [state];
    alone.set(state, own);
    byKey.set(key, known === undefined ? own : [...known, state]);
  }
  return byKey;
}

/** A status query may come before any call that names the operation: it belongs to whoever uses its key later. */
function downstreamByReference({ calls, charges }: Account): ReadonlyMap<string, Downstream> {
  const referenceOfKey = new Map<string, string>();
  for (const { key, reference } of calls) if (key !== null && reference !== null) referenceOfKey.set(key, reference);
  const byReference = new Map<string, { calls: Call[]; charges: Charge[] }>();
  const at = (reference: string): { calls: Call[]; charges: Charge[] } => {
    const known = byReference.get(reference) ?? { calls: [], charges: [] };
    byReference.set(reference, known);
    return known;
  };
  for (const call of calls) {
    const reference = call.reference ?? (call.key === null ? undefined : referenceOfKey.get(call.key));
    if (reference !== undefined) at(reference).calls.push(call);
  }
  for (const charge of charges) at(charge.reference).charges.push(charge);
  return byReference;
}

type LaidOut = Pick<History, "attempts" | "groups" | "operations">;

function arranged(attempts: readonly Recorded[]): LaidOut {
  return { attempts, groups: groupsOf(attempts), operations: operationsOf(attempts) };
}

function groupsOf(attempts: readonly Recorded[]): readonly KeyGroup[] {
  const byKey = new Map<string, (KeyGroup & { attempts: Recorded[] })[]>();
  const groups: KeyGroup[] = [];
  for (const recorded of attempts) {
    const { key, caller, endpoint, query } = recorded.attempt;
    if (key === null) continue;
    let ofKey = byKey.get(key);
    if (ofKey === undefined) {
      ofKey = [];
      byKey.set(key, ofKey);
    }
    const known = ofKey.find((one) => one.caller === caller && one.endpoint === endpoint && one.query === query);
    if (known) {
      known.attempts.push(recorded);
      continue;
    }
    const group = { key, caller, endpoint, query, attempts: [recorded] };
    ofKey.push(group);
    groups.push(group);
  }
  return groups;
}

function operationsOf(attempts: readonly Recorded[]): readonly OperationRecord[] {
  const operations = new Map<string, OperationRecord & { attempts: Recorded[] }>();
  for (const recorded of attempts) {
    const { operation, reference } = recorded.attempt;
    const known = operations.get(operation);
    if (known) known.attempts.push(recorded);
    else operations.set(operation, { operation, reference, attempts: [recorded] });
  }
  return [...operations.values()];
}

function effectsByReference(effects: readonly Effect[]): ReadonlyMap<string, readonly Effect[]> {
  const byReference = new Map<string, Effect[]>();
  for (const effect of effects) {
    const known = byReference.get(effect.operation);
    if (known) known.push(effect);
    else byReference.set(effect.operation, [effect]);
  }
  return byReference;
}

/** Arranges the events of a run into one history for each scenario, in one pass. */
import type { Books, Ending, Event, RaceReceipt, RunFacts, StageName } from "../event.ts";
import { headersJudged } from "../evidence/answers.ts";
import type { FaultWindow, History, RunHistory, ScenarioFacts } from "../history.ts";
import type { Attempt, Micros, Outcome } from "../operation.ts";
import { AnswerBytes } from "./answer-bytes.ts";
import type { LaidOut } from "./arrangement.ts";
import { AttemptTable } from "./attempt-table.ts";
import { effectsByReference, type LastReading, type Truths, truthsIn } from "./ground-truth.ts";
import { KnownLines } from "./known-lines.ts";
import type { Line } from "./lines.ts";
import { OpenAttempts } from "./open-attempts.ts";

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
  readonly #open = new OpenAttempts();
  readonly #answer = new AnswerBytes();
  readonly #knownLines = new KnownLines(this.#open);
  readonly #finals = new Map<StageName, LastReading>();
  #ending: Ending | "cut" = "cut";
  #endingMessage: string | null = null;
  #last: Micros = 0;
  #orphans = 0;
  readonly #unknown = new Map<string, number>();

  /** The event of a line that is to the byte what a journal writes of a known request or outcome; false: of another. */
  addLine(line: Line): boolean {
    if (this.#headers === null) return false;
    const at = this.#knownLines.add(line, this.#headers);
    if (at === null) return false;
    this.#last = Math.max(this.#last, at);
    return true;
  }

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
      laidOut ??= attempts.laidOut();
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
    this.#open.add(attempt.id, { attempts, row: attempts.invoked(attempt, at) });
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
      attempts: new AttemptTable(this.#answer),
      receipts: [],
      faults: [],
      armed: new Map(),
      missed: [],
      observations: [],
    };
    this.#drafts.set(id, draft);
    this.#knownLines.watch(id, draft.attempts);
    return draft;
  }
}

function wordsOn({ fault, label = fault, operation, phase }: Extract<Event, { type: "fault" }>): string {
  const where = phase === undefined ? "" : ` at ${phase}`;
  return operation === undefined ? `${label}${where}` : `${label}${where} of ${operation}`;
}

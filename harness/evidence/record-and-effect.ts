/**
 * What a reading of the books must show of a key: its effect if and only if its record is completed. Judged is a
 * reading in which nothing about the key was moving.
 */
import type { Contract } from "../contract.ts";
import type { History, KeyGroup, Observation, Recorded } from "../history.ts";
import type { Micros, Outcome } from "../operation.ts";
import { endpointOf, isServerError, isSuccess } from "./answers.ts";
import { faultReach, killedAt } from "./fault-reach.ts";
import { groupsWithOwnKey, keyAsTaken } from "./key-group.ts";
import { oncePerHistory } from "./once.ts";
import { countUntil } from "./spans.ts";

/** A key group that has its references for itself. */
export interface Subject {
  readonly group: KeyGroup;
  readonly references: ReadonlySet<string>;
  /** The n-th: when the first n attempts had certainly ended, and when someone else might take the key over. */
  readonly marks: readonly Mark[];
  /** After this moment the target may have forgotten the key. */
  readonly forgottenAt: Micros;
  /** Which of the attempts is the first plain success; Infinity: none. */
  readonly successIndex: number;
}

interface Mark {
  readonly endedAt: Micros;
  readonly resumedFrom: Micros;
}

/** One reading of both books, with the records by key. */
export interface Reading {
  readonly from: Micros;
  readonly at: Micros;
  /** Two equal readings: nothing moved between them, whatever was still in flight. */
  readonly isLast: boolean;
  readonly effects: NonNullable<Observation["effects"]>;
  readonly states: ReadonlyMap<string, readonly string[]>;
}

/** What a reading holds of a subject. */
export interface Sight {
  readonly effects: number;
  /** Undefined: no record. */
  readonly states: readonly string[] | undefined;
  readonly first: Recorded;
  /** A plain success among the attempts that were made before it, or null. */
  readonly success: Recorded | null;
  /** When the last of them had ended; Infinity where that is not known. */
  readonly endedAt: Micros;
}

export const subjectsOf = oncePerHistory((history): readonly Subject[] => {
  const { retentionMs } = history.contract;
  const users = groupsByReference(history);
  return groupsWithOwnKey(history).flatMap((group) => {
    const references = new Set(group.attempts.map(({ attempt }) => attempt.reference));
    const [first] = group.attempts;
    if (first === undefined || group.attempts.some(isDisturbing)) return [];
    if ([...references].some((reference) => users.get(reference) !== group)) return [];
    const index = group.attempts.findIndex((recorded) => isPlainSuccess(history, recorded));
    return {
      group,
      references,
      marks: marksOf(history, group),
      forgottenAt: retentionMs === "undocumented" ? Infinity : first.invokedAt + retentionMs * 1000,
      successIndex: index < 0 ? Infinity : index,
    };
  });
});

/** By reference the one group that uses it; null where several do, or an attempt without a key. */
function groupsByReference({ groups, attempts }: History): ReadonlyMap<string, KeyGroup | null> {
  const users = new Map<string, KeyGroup | null>();
  for (const { attempt } of attempts) if (attempt.key === null) users.set(attempt.reference, null);
  for (const group of groups) {
    let before: string | null = null;
    for (const { attempt } of group.attempts) {
      if (attempt.reference === before) continue;
      before = attempt.reference;
      const known = users.get(attempt.reference);
      users.set(attempt.reference, known === undefined || known === group ? group : null);
    }
  }
  return users;
}

/** It disturbs the key layer on purpose. */
function isDisturbing({ attempt: { forged, condition } }: Recorded): boolean {
  return forged || condition === "fails";
}

/** A success whose effect bears the reference: a changed payload may have changed the reference too. */
function isPlainSuccess(history: History, recorded: Recorded): boolean {
  const { kind } = recorded.attempt.payload;
  return isSuccess(history, recorded) && (kind === "original" || kind === "spelling");
}

function marksOf(history: History, { attempts }: KeyGroup): readonly Mark[] {
  const marks: Mark[] = [];
  let [endedAt, resumedFrom] = [0, Infinity];
  for (const recorded of attempts) {
    endedAt = Math.max(endedAt, endOf(history, recorded));
    if (isLeftBehind(history, recorded)) resumedFrom = Math.min(resumedFrom, recorded.invokedAt + leaseOf(history));
    marks.push({ endedAt, resumedFrom });
  }
  return marks;
}

/** Statements that a process has sent are carried out though it is killed. At a failpoint it has sent all it will send. */
const LAST_STATEMENTS_MS = 250;

/** When nothing of the attempt can be at work any more. Its process may have been killed; else only an answer tells. */
function endOf(history: History, recorded: Recorded): Micros {
  if (hasEnded(recorded.outcome)) return recorded.completedAt;
  const killed = killedAt(history, recorded);
  return killed === null ? Infinity : killed + (isPlaced(history, recorded) ? 0 : LAST_STATEMENTS_MS * 1000);
}

function isPlaced({ faults }: History, { attempt, invokedAt }: Recorded): boolean {
  return faults.some(
    ({ fault, operation, phase, struckAt }) =>
      fault === "kill-replica" && phase !== null && operation === attempt.operation && struckAt > invokedAt,
  );
}

/** 502 and 504 are a gateway's answers: the handler behind it may still be at work. */
function hasEnded(outcome: Outcome): boolean {
  return outcome.kind === "responded" ? outcome.status !== 502 && outcome.status !== 504 : outcome.kind === "refused";
}

/** It may have left its key to whoever resumes the work when the lease is over: another process of the target, too. */
function isLeftBehind(history: History, recorded: Recorded): boolean {
  if (!hasEnded(recorded.outcome)) return true;
  return (
    isServerError(recorded) &&
    (endpointOf(history, recorded).isDownstream === true || faultReach(history).lastTouching(recorded) !== null)
  );
}

function leaseOf({ contract: { leaseMs } }: History): Micros {
  return leaseMs === "undocumented" ? 0 : leaseMs * 1000;
}

export function readingsOf(history: History): readonly Reading[] {
  const last = lastReading(history);
  return [
    ...history.observations.flatMap(({ from, at, effects, records }) =>
      effects === null || records === null
        ? []
        : [{ from, at, isLast: false, effects, states: statesIn(history, groupedByKey(records)) }],
    ),
    ...(last === null ? [] : [last]),
  ];
}

export const lastReading = oncePerHistory((history): Reading | null => {
  const { effects, records, lastReadAt: at } = history;
  if (!effects.known || !records.known || at === null) return null;
  return { from: at, at, isLast: true, effects: effects.value, states: statesIn(history, records.value) };
});

function groupedByKey(records: NonNullable<Observation["records"]>): ReadonlyMap<string, readonly string[]> {
  const byKey = new Map<string, string[]>();
  for (const { key, state } of records) byKey.set(key, [...(byKey.get(key) ?? []), state]);
  return byKey;
}

type States = ReadonlyMap<string, readonly string[]>;

/** Records of this history's keys, by the key as the target may take it. */
function statesIn({ contract, groups }: History, records: States): States {
  const byTaken = recordsAsTaken(contract, records);
  const states = new Map<string, readonly string[]>();
  for (const { key } of groups) {
    const taken = keyAsTaken(contract, key);
    const found = byTaken.get(taken);
    if (found !== undefined) states.set(taken, found);
  }
  return states;
}

const takenOf = new WeakMap<States, { readonly contract: Contract; readonly byTaken: States }>();

/** Arranged once for all scenarios of a stage, which share its last reading. */
function recordsAsTaken(contract: Contract, records: States): States {
  const known = takenOf.get(records);
  if (known?.contract === contract) return known.byTaken;
  const byTaken = new Map<string, readonly string[]>();
  for (const [key, found] of records) {
    const taken = keyAsTaken(contract, key);
    const others = byTaken.get(taken);
    byTaken.set(taken, others === undefined ? found : [...others, ...found]);
  }
  takenOf.set(records, { contract, byTaken });
  return byTaken;
}

/** Null: the subject's books may have been moving when they were read, or were forgotten. */
export function sightOf(history: History, subject: Subject, reading: Reading): Sight | null {
  const { group, marks, forgottenAt, successIndex, references } = subject;
  if (reading.at >= forgottenAt) return null;
  const made = reading.isLast ? marks.length : countUntil(group.attempts, reading.at, ({ invokedAt }) => invokedAt);
  const [first] = group.attempts;
  const mark = marks[made - 1];
  if (first === undefined || mark === undefined) return null;
  if (!reading.isLast && (mark.endedAt >= reading.from || mark.resumedFrom <= reading.at)) return null;
  let effects = 0;
  for (const reference of references) effects += reading.effects.get(reference)?.length ?? 0;
  return {
    effects,
    states: reading.states.get(keyAsTaken(history.contract, group.key)),
    first,
    success: successIndex < made ? (group.attempts[successIndex] ?? null) : null,
    endedAt: mark.endedAt,
  };
}

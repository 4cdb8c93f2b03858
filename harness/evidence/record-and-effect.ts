/**
 * What a reading of the books must show of a key: its effect if and only if its record is completed. Judged is a
 * reading in which nothing about the key was moving.
 */
import type { Contract } from "../contract.ts";
import type { History, KeyGroup, Observation, Recorded } from "../history.ts";
import type { Attempt, Micros, Outcome } from "../operation.ts";
import { endpointOf, isServerError, isSuccess } from "./answers.ts";
import { faultReach, killedAt } from "./fault-reach.ts";
import { groupsWithOwnKey, keyAsTaken } from "./key-group.ts";
import { oncePerHistory } from "./once.ts";
import { countUntil } from "./spans.ts";

/** A key group that has its references for itself. */
export interface Subject {
  readonly group: KeyGroup;
  readonly references: readonly string[];
  /** After this moment the target may have forgotten the key. */
  readonly forgottenAt: Micros;
  /** Which of the attempts is the first plain success; Infinity: none. */
  readonly successIndex: number;
}

/** When an attempt and all before it had certainly ended, and when someone else might take the key over. */
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
  /** How many attempts were made before it. */
  readonly made: number;
}

export const subjectsOf = oncePerHistory((history): readonly Subject[] => {
  const { retentionMs } = history.contract;
  const users = groupsByReference(history);
  return groupsWithOwnKey(history).flatMap((group) => {
    const references = referencesOf(group);
    const [first] = group.attempts;
    if (first === undefined || group.kinds.some(isDisturbing)) return [];
    if (references.some((reference) => users.get(reference) !== group)) return [];
    const index = group.attempts.findIndex((recorded) => isPlainSuccess(history, recorded));
    return {
      group,
      references,
      forgottenAt: retentionMs === "undocumented" ? Infinity : first.invokedAt + retentionMs * 1000,
      successIndex: index < 0 ? Infinity : index,
    };
  });
});

/** By reference the one group that uses it; null where several do, or an attempt without a key. */
function groupsByReference({ groups, operations }: History): ReadonlyMap<string, KeyGroup | null> {
  const users = new Map<string, KeyGroup | null>();
  for (const { kinds } of operations)
    for (const { key, reference } of kinds) if (key === null) users.set(reference, null);
  for (const group of groups) {
    for (const { reference } of group.kinds) {
      const known = users.get(reference);
      users.set(reference, known === undefined || known === group ? group : null);
    }
  }
  return users;
}

function referencesOf({ kinds }: KeyGroup): readonly string[] {
  const references: string[] = [];
  for (const { reference } of kinds) if (!references.includes(reference)) references.push(reference);
  return references;
}

/** It disturbs the key layer on purpose. */
function isDisturbing({ forged, condition }: Attempt): boolean {
  return forged || condition === "fails";
}

/** A success whose effect bears the reference: a changed payload may have changed the reference too. */
function isPlainSuccess(history: History, recorded: Recorded): boolean {
  const { kind } = recorded.attempt.payload;
  return isSuccess(history, recorded) && (kind === "original" || kind === "spelling");
}

const marksIn = oncePerHistory((): Map<KeyGroup, readonly Mark[]> => new Map());

/** By attempt. Only a reading in between looks at them. */
function marksOf(history: History, group: KeyGroup): readonly Mark[] {
  const marks = marksIn(history).get(group) ?? markedAnew(history, group);
  marksIn(history).set(group, marks);
  return marks;
}

function markedAnew(history: History, { attempts }: KeyGroup): readonly Mark[] {
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
  const { group, forgottenAt, successIndex, references } = subject;
  const { attempts } = group;
  if (reading.at >= forgottenAt) return null;
  const made = reading.isLast ? attempts.length : countUntil(attempts, reading.at, ({ invokedAt }) => invokedAt);
  const [first] = attempts;
  if (first === undefined || made === 0) return null;
  if (!reading.isLast && mayBeMoving(history, group, made, reading)) return null;
  let effects = 0;
  for (const reference of references) effects += reading.effects.get(reference)?.length ?? 0;
  return {
    effects,
    states: reading.states.get(keyAsTaken(history.contract, group.key)),
    first,
    success: successIndex < made ? (attempts[successIndex] ?? null) : null,
    made,
  };
}

function mayBeMoving(history: History, group: KeyGroup, made: number, { from, at }: Reading): boolean {
  const mark = marksOf(history, group)[made - 1];
  return mark === undefined || mark.endedAt >= from || mark.resumedFrom <= at;
}

/** When the attempts that a reading can show had ended; Infinity where that is not known. */
export function endedBefore(history: History, { group }: Subject, { made }: Sight): Micros {
  return marksOf(history, group)[made - 1]?.endedAt ?? Infinity;
}

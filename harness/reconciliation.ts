/**
 * Three-way reconciliation: what the client was told, what the books and the processor hold, and what the key
 * record says, held against each other for every reference at the end of a run. The invariants say which promise
 * was broken; this says of every key what became of it, so that none is passed over.
 */

import type { Effect } from "./event.ts";
import { acceptanceByReference } from "./evidence/acceptance.ts";
import { acknowledgementsByReference, effectsOfAny } from "./evidence/acknowledgement.ts";
import { describe, endpointOf, isConflict, isServerError, isSuccess } from "./evidence/answers.ts";
import { keyAsTaken } from "./evidence/key-group.ts";
import { lastReading, sightOf, subjectsOf } from "./evidence/record-and-effect.ts";
import { type ReferenceUse, referenceUses, rememberedReferences } from "./evidence/reference-use.ts";
import type { History } from "./history.ts";

const CLASSES = [
  /** Acknowledged, and the books hold it once. */
  "exactly-once",
  /** More effects, or more charges, than operations. */
  "duplicated",
  /** Acknowledged and not in the books; or charged and completed without an effect. */
  "lost",
  /** Only ever rejected, and in the books nevertheless. */
  "ghost",
  /** Rejected for certain, and not in the books. */
  "refused",
  /** The client never learned it for certain; the books agree on one, or on none. */
  "resolved-unknown",
  /** The client never learned it, and the books disagree or are not done with it; or they contradict the client. */
  "unresolved-unknown",
] as const;

export type KeyClass = (typeof CLASSES)[number];
type Counts = Readonly<Record<KeyClass, number>>;

/** A key of which nobody can say what became of it, and all that is known. */
export interface UnresolvedKey {
  readonly scenario: string;
  readonly reference: string;
  readonly key: string | null;
  readonly lastAnswer: string;
  readonly effects: number;
  /** Null: no call to the processor is expected, or its account is not known. */
  readonly charges: number | null;
  /** Null: no record, or no books of them. */
  readonly record: string | null;
}

export interface Reconciliation {
  readonly counts: Counts;
  /** Outlived their retention, so that a second execution would have been right. */
  readonly notCompared: number;
  readonly unresolved: readonly UnresolvedKey[];
  /** Why nothing was compared, or null. */
  readonly reason: string | null;
}

/** Nothing was compared, for a reason. */
export function notReconciled(reason: string): Reconciliation {
  return { counts: noCounts(), notCompared: 0, unresolved: [], reason };
}

export function reconcile(history: History): Reconciliation {
  const { effects } = history;
  if (!effects.known) return notReconciled(effects.reason);
  const counts = noCounts();
  const unresolved: UnresolvedKey[] = [];
  const uses = rememberedReferences(history);
  const evidence = evidenceOf(history, effects.value);
  for (const use of uses) {
    const books = booksOf(history, use, effects.value.get(use.reference)?.length ?? 0);
    const found = classOf(use, books, evidence);
    counts[found] += 1;
    if (found === "unresolved-unknown") unresolved.push(listed(history, use, books));
  }
  const all = referenceUses(history).length;
  return { counts, notCompared: all - uses.length, unresolved, reason: null };
}

/** Of a whole run. */
export function together(parts: readonly Reconciliation[]): Reconciliation {
  const counts = noCounts();
  for (const part of parts) for (const name of CLASSES) counts[name] += part.counts[name];
  const compared = parts.filter(({ reason }) => reason === null);
  return {
    counts,
    notCompared: parts.reduce((sum, part) => sum + part.notCompared, 0),
    unresolved: parts.flatMap((part) => part.unresolved),
    reason: compared.length > 0 ? null : (parts[0]?.reason ?? "no scenario was played"),
  };
}

function noCounts(): Record<KeyClass, number> {
  const counts: Partial<Record<KeyClass, number>> = {};
  for (const name of CLASSES) counts[name] = 0;
  return counts as Record<KeyClass, number>;
}

/** What the invariants conclude from all attempts together, by reference. */
interface Evidence {
  readonly acknowledged: ReadonlySet<string>;
  readonly lost: ReadonlySet<string>;
  readonly ghosts: ReadonlySet<string>;
  /** Only ever rejected. */
  readonly rejected: ReadonlySet<string>;
  /** The last reading holds a completed record of their key, beyond doubt theirs, and no effect. */
  readonly withoutEffect: ReadonlySet<string>;
}

function evidenceOf(history: History, effects: ReadonlyMap<string, readonly Effect[]>): Evidence {
  const [acknowledged, lost] = [new Set<string>(), new Set<string>()];
  for (const [reference, { witnesses, references }] of acknowledgementsByReference(history)) {
    for (const one of references) acknowledged.add(one);
    if (effectsOfAny(effects, references) < witnesses.length) lost.add(reference);
  }
  const [ghosts, rejected] = [new Set<string>(), new Set<string>()];
  for (const [reference, { allowed, rejections }] of acceptanceByReference(history)) {
    if (allowed === 0) rejected.add(reference);
    if (rejections.length > 0 && (effects.get(reference)?.length ?? 0) > allowed) ghosts.add(reference);
  }
  return { acknowledged, lost, ghosts, rejected, withoutEffect: completedWithoutEffect(history) };
}

function completedWithoutEffect(history: History): ReadonlySet<string> {
  const last = lastReading(history);
  const found = new Set<string>();
  if (last === null) return found;
  for (const subject of subjectsOf(history)) {
    const sight = sightOf(history, subject, last);
    if (sight === null || sight.effects > 0) continue;
    if (!sight.states?.every((state) => history.run.completedStates.includes(state))) continue;
    for (const reference of subject.references) found.add(reference);
  }
  return found;
}

/** What the books hold of one reference. */
interface Holdings {
  readonly effects: number;
  readonly charged: number | null;
  /** Undefined: no record, or no books of them. */
  readonly states: readonly string[] | undefined;
  readonly isCompleted: boolean;
  readonly isInProgress: boolean;
}

function booksOf(history: History, use: ReferenceUse, effects: number): Holdings {
  const states = statesOf(history, use);
  const isDone = (state: string): boolean => history.run.completedStates.includes(state);
  return {
    effects,
    charged: chargedOf(history, use),
    states,
    isCompleted: states?.some(isDone) ?? false,
    isInProgress: states?.some((state) => !isDone(state) && IN_PROGRESS.test(state)) ?? false,
  };
}

/** A target file names the completed states alone; of the others only the usual words tell work from failure. */
const IN_PROGRESS = /progress|process|pending|start|running|lock|claim|held|unknown/i;

function chargedOf(history: History, { reference, attempts }: ReferenceUse): number | null {
  const { downstream } = history;
  if (!downstream.known || !attempts.some((one) => endpointOf(history, one).isDownstream)) return null;
  const charges = downstream.value.get(reference)?.charges ?? [];
  return charges.filter(({ status }) => status === "succeeded").length;
}

function statesOf({ records, contract }: History, { operations }: ReferenceUse): readonly string[] | undefined {
  if (!records.known) return undefined;
  const keys = new Set<string>();
  for (const { kinds } of operations) {
    for (const { key } of kinds) {
      if (key === null || keys.has(key)) continue;
      keys.add(key);
      keys.add(keyAsTaken(contract, key));
    }
  }
  const found = [...keys].flatMap((key) => records.value.get(key) ?? []);
  return found.length > 0 ? found : undefined;
}

function classOf({ reference, operations }: ReferenceUse, books: Holdings, evidence: Evidence): KeyClass {
  const { effects, charged } = books;
  if (effects > operations.length || (charged ?? 0) > operations.length) return "duplicated";
  if (evidence.lost.has(reference)) return "lost";
  if ((charged ?? 0) > 0 && evidence.withoutEffect.has(reference)) return "lost";
  if (evidence.ghosts.has(reference)) return "ghost";
  if (isContradictory(books)) return "unresolved-unknown";
  if (evidence.acknowledged.has(reference)) return "exactly-once";
  return evidence.rejected.has(reference) && effects === 0 ? "refused" : "resolved-unknown";
}

/** The processor and the ledger differ, an effect's record is not completed, or someone is still at it. */
function isContradictory({ effects, charged, states, isCompleted, isInProgress }: Holdings): boolean {
  if (charged !== null && charged !== effects) return true;
  if (effects > 0 && states !== undefined && !isCompleted) return true;
  return effects === 0 && isInProgress;
}

function listed(history: History, { reference, attempts }: ReferenceUse, books: Holdings): UnresolvedKey {
  return {
    scenario: history.scenario.id,
    reference,
    key: attempts.find(({ attempt }) => attempt.key !== null)?.attempt.key ?? null,
    lastAnswer: lastAnswer(history, attempts),
    effects: books.effects,
    charges: books.charged,
    record: books.states?.join(", ") ?? null,
  };
}

/** The last that tells something: a success, or else what came last. */
function lastAnswer(history: History, attempts: ReferenceUse["attempts"]): string {
  const last = attempts.findLast((one) => isSuccess(history, one)) ?? attempts.at(-1);
  if (last === undefined) return "none";
  const means = isServerError(last) ? " (server error)" : isConflict(history.contract, last) ? " (in flight)" : "";
  return `${last.attempt.id}: ${describe(last.outcome)}${means}`;
}

/**
 * White box: whenever the books are read, a key's effect is there if and only if its record is completed. A
 * moment in which only one of them is there is the moment at which a crash loses or doubles the operation.
 */
import { isSuccess, name, withinRetention } from "../evidence/answers.ts";
import { groupsWithOwnKey, keyAsTaken } from "../evidence/key-group.ts";
import type { History, KeyGroup, Observation, Recorded } from "../history.ts";
import { type Invariant, type Verdict, type Violation, verdictOf, violation } from "../invariant.ts";
import type { Outcome } from "../operation.ts";

export const atomicRecordAndEffect = {
  id: "atomic-record-and-effect",
  level: "must",
  statement: "At any moment a key's effect is in the books if and only if its record is completed",

  check(history: History) {
    const { effects, records } = history.run.books;
    if (!records) return notNamed("key records");
    if (!effects) return notNamed("effects");
    const accused = new Map<KeyGroup, Violation>();
    let checked = 0;
    const subjects = subjectsOf(history);
    for (const reading of history.observations.flatMap((observation) => readingOf(history, observation))) {
      for (const subject of subjects) {
        if (accused.has(subject.group) || !isSettled(subject, reading)) continue;
        const sight = sightOf(history, subject, reading);
        if (sight === "nothing") continue;
        checked += 1;
        if (sight !== "together") accused.set(subject.group, violation([subject.witness], sight));
      }
    }
    return verdictOf(checked, [...accused.values()], "the books were never read with a finished key in them");
  },
} as const satisfies Invariant;

function notNamed(books: string): Verdict {
  return { result: "skip", reason: `the target file names no ${books}`, excused: true };
}

/** A key group of which the books must tell the truth once all its attempts have ended. */
interface Subject {
  readonly group: KeyGroup;
  readonly references: ReadonlySet<string>;
  readonly lastCompletedAt: number;
  /** After this moment the target may have forgotten the key. */
  readonly forgottenAt: number;
  readonly isAcknowledged: boolean;
  /** The first plain success, else the first attempt. */
  readonly witness: Recorded;
}

function subjectsOf(history: History): readonly Subject[] {
  const { retentionMs } = history.contract;
  const users = groupsByReference(history);
  return groupsWithOwnKey(history).flatMap((group) => {
    const references = new Set(group.attempts.map(({ attempt }) => attempt.reference));
    const [first] = group.attempts;
    if (first === undefined || !isConclusive(history, group)) return [];
    if ([...references].some((reference) => users.get(reference) !== group)) return [];
    const success = group.attempts.find((recorded) => isPlainSuccess(history, recorded));
    return {
      group,
      references,
      lastCompletedAt: group.attempts.reduce((last, { completedAt }) => Math.max(last, completedAt), 0),
      forgottenAt: retentionMs === "undocumented" ? Infinity : first.invokedAt + retentionMs * 1000,
      isAcknowledged: success !== undefined,
      witness: success ?? first,
    };
  });
}

/** By reference the one group that uses it; null where several do, or an attempt without a key. */
function groupsByReference({ groups, attempts }: History): ReadonlyMap<string, KeyGroup | null> {
  const users = new Map<string, KeyGroup | null>();
  for (const { attempt } of attempts) if (attempt.key === null) users.set(attempt.reference, null);
  for (const group of groups) {
    for (const { attempt } of group.attempts) {
      const known = users.get(attempt.reference);
      users.set(attempt.reference, known === undefined || known === group ? group : null);
    }
  }
  return users;
}

/** No attempt whose handler may still be at work, and none that disturbs the key layer on purpose. */
function isConclusive({ contract }: History, group: KeyGroup): boolean {
  return (
    withinRetention(contract, group).length === group.attempts.length &&
    group.attempts.every(
      (recorded) => hasEnded(recorded.outcome) && !recorded.attempt.forged && recorded.attempt.condition !== "fails",
    )
  );
}

/** 502 and 504 are a gateway's answers: the handler behind it may still be at work. */
function hasEnded(outcome: Outcome): boolean {
  return outcome.kind === "responded" ? outcome.status !== 502 && outcome.status !== 504 : outcome.kind === "refused";
}

/** A success whose effect bears the reference: a changed payload may have changed the reference too. */
function isPlainSuccess(history: History, recorded: Recorded): boolean {
  const { kind } = recorded.attempt.payload;
  return isSuccess(history, recorded) && (kind === "original" || kind === "spelling");
}

/** One reading of both books, with the records by key. */
interface Reading extends Observation {
  readonly effects: NonNullable<Observation["effects"]>;
  readonly states: ReadonlyMap<string, readonly string[]>;
}

function readingOf(history: History, observation: Observation): readonly Reading[] {
  const { effects, records } = observation;
  if (effects === null || records === null) return [];
  const keys = new Set(history.groups.map(({ key }) => keyAsTaken(history.contract, key)));
  const states = new Map<string, string[]>();
  for (const { key, state } of records) {
    const taken = keyAsTaken(history.contract, key);
    if (!keys.has(taken)) continue;
    const known = states.get(taken);
    if (known) known.push(state);
    else states.set(taken, [state]);
  }
  return [{ ...observation, effects, states }];
}

function isSettled({ lastCompletedAt, forgottenAt }: Subject, { from, at }: Reading): boolean {
  return lastCompletedAt < from && at < forgottenAt;
}

type Proof = Parameters<typeof violation>[1];

function sightOf(history: History, subject: Subject, reading: Reading): "nothing" | "together" | Proof {
  const effects = [...subject.references].reduce((sum, one) => sum + (reading.effects.get(one)?.length ?? 0), 0);
  const states = reading.states.get(keyAsTaken(history.contract, subject.group.key));
  const when = `${Math.round((reading.at - subject.lastCompletedAt) / 1000)} ms after the last answer to key ${subject.group.key}`;
  const seen = `${name(subject.witness)}: the books, read ${when}, held`;
  if (states === undefined) {
    // Without any other record the reading itself may be at fault, and where retention is unknown so may be the wait.
    if (effects === 0 || subject.forgottenAt === Infinity || reading.states.size === 0) return "nothing";
    return {
      message: `${seen} ${effects} effect(s) and no record`,
      expected: "a completed record",
      actual: "no record",
    };
  }
  const completed = states.filter((state) => history.run.completedStates.includes(state));
  const actual = `${effects} effect(s), record ${states.join(", ")}`;
  if (effects > 0 && completed.length === 0) {
    return { message: `${seen} ${effects} effect(s) and an unfinished record`, expected: "a completed record", actual };
  }
  if (effects > 0 || completed.length < states.length) return "together";
  if (!subject.isAcknowledged) return "nothing";
  return { message: `${seen} a completed record and no effect`, expected: "an effect", actual };
}

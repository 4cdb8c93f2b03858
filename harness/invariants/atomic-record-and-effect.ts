/**
 * White box: whenever the books are read, a key's effect is there if and only if its record is completed. A
 * moment in which only one of them is there is the moment at which a crash loses or doubles the operation, and
 * right after a crash it has happened.
 */
import { name } from "../evidence/answers.ts";
import {
  endedBefore,
  type Reading,
  readingsOf,
  type Sight,
  type Subject,
  sightOf,
  subjectsOf,
} from "../evidence/record-and-effect.ts";
import type { History, KeyGroup } from "../history.ts";
import { type Invariant, type Verdict, type Violation, verdictOf, violation } from "../invariant.ts";

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
    for (const reading of readingsOf(history)) {
      for (const subject of subjects) {
        if (accused.has(subject.group)) continue;
        const sight = sightOf(history, subject, reading);
        const judged = sight === null ? "nothing" : judge(history, subject, reading, sight);
        if (judged === "nothing") continue;
        checked += 1;
        if (judged !== "together") accused.set(subject.group, judged);
      }
    }
    return verdictOf(checked, [...accused.values()], "the books were never read with a finished key in them");
  },
} as const satisfies Invariant;

function notNamed(books: string): Verdict {
  return { result: "skip", reason: `the target file names no ${books}`, excused: true };
}

function judge(history: History, subject: Subject, reading: Reading, sight: Sight): "nothing" | "together" | Violation {
  const { effects, states } = sight;
  if (states === undefined) {
    // Without any other record the reading itself may be at fault, and where retention is unknown so may be the wait.
    if (effects === 0 || subject.forgottenAt === Infinity || reading.states.size === 0) return "nothing";
    return accuse(history, subject, reading, sight, "no record", "a completed record");
  }
  const completed = states.filter((state) => history.run.completedStates.includes(state));
  if (effects > 0 && completed.length === 0) {
    return accuse(history, subject, reading, sight, "an unfinished record", "a completed record");
  }
  if (effects > 0 || completed.length < states.length) return "together";
  if (sight.success === null && !(reading.isLast && isCharged(history, subject))) return "nothing";
  return accuse(history, subject, reading, sight, "a completed record", "an effect");
}

/** A completed record of a charge is no stored refusal. */
function isCharged({ downstream }: History, { references }: Subject): boolean {
  if (!downstream.known) return false;
  return references.some((reference) =>
    downstream.value.get(reference)?.charges.some(({ status }) => status === "succeeded"),
  );
}

function accuse(
  history: History,
  subject: Subject,
  reading: Reading,
  sight: Sight,
  record: string,
  expected: string,
): Violation {
  const { effects, states, first, success } = sight;
  const endedAt = endedBefore(history, subject, sight);
  const witness = success ?? first;
  const seen = effects === 0 ? `${record} and no effect` : `${effects} effect(s) and ${record}`;
  const after = Number.isFinite(endedAt) && endedAt <= reading.at;
  const when = after
    ? `${Math.round((reading.at - endedAt) / 1000)} ms after the last answer to key ${subject.group.key}`
    : `when nothing moved any more`;
  return violation([witness], {
    message: `${name(witness)}: the books, read ${when}, held ${seen}`,
    expected,
    actual: states === undefined ? "no record" : `${effects} effect(s), record ${states.join(", ")}`,
  });
}

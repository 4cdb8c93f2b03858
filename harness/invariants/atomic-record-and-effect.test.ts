import { expect, test } from "vitest";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { answer, effect, HistorySketch, lost } from "../testing/history-builder.ts";
import { groupOf, hasKeyToItself, inTime, resultOf, succeeded } from "../testing/naive.ts";
import { atomicRecordAndEffect } from "./atomic-record-and-effect.ts";

const check = (sketch: HistorySketch) => atomicRecordAndEffect.check(sketch.build());
const record = (state: string, key = "key") => ({ key, state });
const held = [effect("op")];

test("an effect beside an unfinished record is a violation that says when the books were read", () => {
  const sketch = new HistorySketch()
    .attempt({}, 0, 10, answer(500))
    .attempt({}, 20, 30)
    .observed(50, held, [record("in_progress")]);
  expect(check(sketch)).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message:
          "a2 (201): the books, read 20 ms after the last answer to key key, held 1 effect(s) and an unfinished record",
        expected: "a completed record",
        actual: "1 effect(s), record in_progress",
        key: "key",
        attempts: ["a2"],
      },
    ],
  });
});

test("a completed record of a success without its effect is a violation", () => {
  const sketch = new HistorySketch().attempt({}, 0, 10).observed(50, [], [record("completed")]);
  expect(check(sketch)).toMatchObject({ result: "fail", violations: [{ expected: "an effect", attempts: ["a1"] }] });
});

test("an effect without any record is a violation where another key's record was read", () => {
  const sketch = (...records: { key: string; state: string }[]) =>
    new HistorySketch()
      .attempt({}, 0, 10)
      .attempt({ operation: "other", key: "other" }, 0, 10, lost)
      .observed(50, held, records);
  expect(check(sketch(record("completed", "other")))).toMatchObject({
    result: "fail",
    violations: [{ actual: "no record" }],
  });
  // A reading without any record of ours, or with strangers' only, may have looked in the wrong place.
  expect(check(sketch()).result).toBe("skip");
  expect(check(sketch(record("completed", "stranger"))).result).toBe("skip");
});

test("without a documented retention a record that is gone may have been forgotten", () => {
  const sketch = new HistorySketch()
    .contract({ retentionMs: "undocumented" })
    .attempt({}, 0, 10)
    .attempt({ operation: "other", key: "other" }, 0, 10, lost)
    .observed(50, held, [record("completed", "other")]);
  expect(check(sketch).result).toBe("skip");
});

test("both together, or neither, is right, and one key is accused once", () => {
  const sketch = (...records: { key: string; state: string }[]) =>
    new HistorySketch().attempt({}, 0, 10).observed(20, held, records).observed(30, held, records);
  expect(check(sketch(record("completed")))).toEqual({ result: "pass", checked: 2 });
  expect(check(sketch(record("failed"), record("completed")))).toEqual({ result: "pass", checked: 2 });
  expect(check(sketch(record("failed")))).toMatchObject({ checked: 1, violations: [{}] });
  const released = new HistorySketch().attempt({}, 0, 10, answer(500)).observed(20, [], [record("failed")]);
  expect(check(released)).toEqual({ result: "pass", checked: 1 });
});

test("a stored rejection is a completed record without an effect, and right", () => {
  const sketch = new HistorySketch().attempt({}, 0, 10, answer(400)).observed(20, [], [record("completed")]);
  expect(check(sketch).result).toBe("skip");
});

test("the effect of a changed payload may bear another reference", () => {
  const sketch = new HistorySketch()
    .attempt({ payload: { kind: "changed", field: "/reference" } }, 0, 10)
    .observed(20, [], [record("completed")]);
  expect(check(sketch).result).toBe("skip");
});

test.each<[string, (sketch: HistorySketch) => HistorySketch]>([
  ["in flight when the reading began", (sketch) => sketch.attempt({}, 30, 40)],
  ["that ended while the books were read", (sketch) => sketch.attempt({}, 30, 48)],
  ["whose end is unknown", (sketch) => sketch.attempt({}, 20, 30, lost)],
  ["that a gateway gave up on", (sketch) => sketch.attempt({}, 20, 30, answer(504))],
  ["with a malformed key", (sketch) => sketch.attempt({ malformed: "charset" }, 20, 30)],
  ["with internal headers", (sketch) => sketch.attempt({ forged: true }, 20, 30)],
  ["asked to fail", (sketch) => sketch.attempt({ condition: "fails" }, 20, 30)],
  ["of another caller under the same key", (sketch) => sketch.attempt({ caller: "bob" }, 20, 30)],
  ["under another key with the same reference", (sketch) => sketch.attempt({ key: "second" }, 20, 30)],
  ["without a key and with the same reference", (sketch) => sketch.attempt({ key: null }, 20, 30)],
])("a key with an attempt %s is not judged", (_, add) => {
  const sketch = new HistorySketch().attempt({}, 0, 10);
  expect(check(add(sketch).observed(50, held, [record("in_progress")], 40)).result).toBe("skip");
});

test("an attempt that ended before the reading began is judged, however slow the reading", () => {
  const sketch = new HistorySketch().attempt({}, 0, 10).observed(90, held, [record("in_progress")], 11);
  expect(check(sketch).result).toBe("fail");
});

test("a reading that ends after retention proves nothing", () => {
  const sketch = (at: number) =>
    new HistorySketch()
      .contract({ retentionMs: 100 })
      .attempt({}, 0, 10)
      .observed(at, held, [record("expired")], 90);
  expect(check(sketch(99)).result).toBe("fail");
  expect(check(sketch(100)).result).toBe("skip");
});

test("the store may keep a key in lower case where the contract is silent on case", () => {
  const sketch = new HistorySketch()
    .contract({ key: { ...new HistorySketch().build().contract.key, caseSensitive: "undocumented" } })
    .attempt({ key: "KEY" }, 0, 10)
    .attempt({ operation: "other", key: "other" }, 0, 10, lost)
    .observed(20, held, [record("completed"), record("completed", "other")]);
  expect(check(sketch)).toEqual({ result: "pass", checked: 1 });
});

test("without both books it is skipped and excused, without a reading it is skipped", () => {
  expect(check(new HistorySketch().withoutBooks().attempt({}, 0, 10))).toEqual({
    result: "skip",
    reason: "the target file names no key records",
    excused: true,
  });
  const history = new HistorySketch().attempt({}, 0, 10).build();
  const run = { ...history.run, books: { effects: false, records: true } };
  expect(atomicRecordAndEffect.check({ ...history, run })).toMatchObject({
    reason: "the target file names no effects",
    excused: true,
  });
  expect(atomicRecordAndEffect.check(history)).toMatchObject({ result: "skip", excused: false });
});

test("a reading that failed is no reading", () => {
  const history = new HistorySketch()
    .attempt({}, 0, 10)
    .observed(20, held, [record("in_progress")])
    .build();
  for (const lost of [{ effects: null }, { records: null }, { effects: null, records: null }]) {
    const observations = history.observations.map((one) => ({ ...one, ...lost }));
    expect(atomicRecordAndEffect.check({ ...history, observations })).toMatchObject({ result: "skip" });
  }
});

test("agrees with a brute-force checker", () => {
  agreesWith(
    atomicRecordAndEffect,
    (history) => {
      let checked = 0;
      let violated = 0;
      const { contract, attempts } = history;
      const taken = (key: string) => (contract.key.caseSensitive === true ? key : key.toLowerCase());
      for (const { effects, records, from, at } of history.observations) {
        for (const one of attempts) {
          const group = groupOf(history, one);
          const [first] = group;
          if (first === undefined || effects === null || records === null) continue;
          if (!hasKeyToItself(history, first) || at >= first.invokedAt + Number(contract.retentionMs) * 1000) continue;
          const isClear = group.every(
            ({ attempt, completedAt, outcome }) =>
              completedAt < from &&
              outcome.kind !== "indeterminate" &&
              attempt.malformed === null &&
              !attempt.forged &&
              attempt.condition !== "fails",
          );
          if (!isClear || group.some((recorded) => !inTime(history, first, recorded))) continue;
          const references = new Set(group.map(({ attempt }) => attempt.reference));
          if (attempts.some((other) => references.has(other.attempt.reference) && !group.includes(other))) continue;
          const n = [...references].reduce((sum, reference) => sum + (effects.get(reference) ?? []).length, 0);
          const mine = records.filter(({ key }) => taken(key) === taken(first.attempt.key ?? ""));
          const ours = records.filter(({ key }) =>
            attempts.some(({ attempt }) => attempt.key !== null && taken(attempt.key) === taken(key)),
          );
          const isDone = mine.some(({ state }) => state === "completed");
          const isAllDone = mine.every(({ state }) => state === "completed");
          const isAcknowledged = group.some(
            (recorded) => succeeded(recorded) && /original|spelling/.test(recorded.attempt.payload.kind),
          );
          if (mine.length === 0) {
            if (n === 0 || ours.length === 0 || contract.retentionMs === "undocumented") continue;
            violated += 1;
          } else if (n > 0 ? !isDone : isAllDone && isAcknowledged) violated += 1;
          else if (n === 0 && isAllDone) continue;
          checked += 1;
        }
      }
      return resultOf(violated, checked);
    },
    6_000,
  );
});

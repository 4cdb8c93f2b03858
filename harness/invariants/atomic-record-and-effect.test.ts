import { expect, test } from "vitest";
import type { Recorded } from "../history.ts";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { answer, effect, HistorySketch, lost } from "../testing/history-builder.ts";
import { groupOf, hasKeyToItself, resultOf, statusOf, succeeded } from "../testing/naive.ts";
import { underFault } from "../testing/naive-answers.ts";
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

const killed = (place: { operation?: string; phase?: string } = {}) =>
  new HistorySketch().fault("kill-replica", { replica: 0, ...place }, 50, 400).attempt({}, 0, 60, lost);

test("a reading right after a crash judges what the killed process left, before anyone repairs it", () => {
  const placed = () => killed({ operation: "op", phase: "before-completion" });
  const torn = placed().observed(70, held, [record("in_progress")]);
  expect(check(torn.attempt({ replica: 1 }, 100, 120))).toMatchObject({
    result: "fail",
    violations: [{ attempts: ["a1"], actual: "1 effect(s), record in_progress" }],
  });
  expect(check(placed().observed(70, [], [record("in_progress")]))).toEqual({ result: "pass", checked: 1 });
  expect(check(placed().observed(70, held, [record("completed")]))).toEqual({ result: "pass", checked: 1 });
});

test("statements of a process that was killed anywhere may still be carried out for a moment", () => {
  expect(check(killed().observed(299, held, [record("in_progress")])).result).toBe("skip");
  expect(check(killed().observed(301, held, [record("in_progress")])).result).toBe("fail");
});

test("a kill of another replica, or before the attempt was made, ends nothing", () => {
  const other = new HistorySketch().fault("kill-replica", { replica: 1 }, 50, 400).attempt({}, 0, 60, lost);
  expect(check(other.observed(350, held, [record("in_progress")])).result).toBe("skip");
  const before = new HistorySketch().fault("kill-replica", { replica: 0 }, 50, 55).attempt({}, 70, 90, lost);
  expect(check(before.observed(400, held, [record("in_progress")])).result).toBe("skip");
});

test("once the lease is over another process may be repairing what is read", () => {
  const torn = (at: number) =>
    killed({ operation: "op", phase: "committed" })
      .contract({ leaseMs: 100 })
      .observed(at, held, [record("in_progress")]);
  expect(check(torn(99)).result).toBe("fail");
  expect(check(torn(100)).result).toBe("skip");
});

test("attempts made after the reading do not keep it from being judged", () => {
  const sketch = new HistorySketch().attempt({}, 0, 10, answer(500)).observed(20, held, [record("in_progress")]);
  expect(check(sketch.attempt({}, 30, 40, lost)).result).toBe("fail");
});

test("the last quiet reading is a reading too, whatever was in flight", () => {
  const sketch = () => new HistorySketch().attempt({}, 0, 10, lost);
  expect(check(sketch().books(held, { records: [record("in_progress")] }))).toMatchObject({
    result: "fail",
    violations: [{ message: expect.stringContaining("read when nothing moved any more") }],
  });
  expect(check(sketch().books(held, { records: [record("in_progress")], quiet: false })).result).toBe("skip");
  expect(check(sketch().books(held, { records: [record("completed")] }))).toEqual({ result: "pass", checked: 1 });
});

test("a completed record of what the processor charged, without an effect, is a violation", () => {
  const sketch = () => new HistorySketch().attempt({ endpoint: "charge" }, 0, 10, lost);
  const completed = { records: [record("completed")] };
  expect(
    check(
      sketch()
        .books([], completed)
        .account([{ result: "charged" }]),
    ).result,
  ).toBe("fail");
  expect(
    check(
      sketch()
        .books([], completed)
        .account([{ result: "declined" }]),
    ).result,
  ).toBe("skip");
});

test("agrees with a brute-force checker", () => {
  agreesWith(
    atomicRecordAndEffect,
    (history) => {
      let checked = 0;
      let violated = 0;
      const { contract, attempts, faults } = history;
      const taken = (key: string) => (contract.key.caseSensitive === true ? key : key.toLowerCase());
      const endOf = ({ attempt, invokedAt, completedAt, outcome }: Recorded): number => {
        if (outcome.kind !== "indeterminate") return completedAt;
        const kills = faults.filter(
          ({ fault, replica, from }) => fault === "kill-replica" && replica === attempt.replica && from > invokedAt,
        );
        const isPlaced = faults.some(
          ({ fault, operation, phase, from }) =>
            fault === "kill-replica" && operation === attempt.operation && phase !== null && from > invokedAt,
        );
        return Math.min(Infinity, ...kills.map(({ from }) => from)) + (isPlaced ? 0 : 250_000);
      };
      const lease = contract.leaseMs === "undocumented" ? 0 : contract.leaseMs * 1000;
      const isLeft = (one: Recorded) =>
        one.outcome.kind === "indeterminate" ||
        (statusOf(one) >= 500 && (one.attempt.endpoint === "charge" || underFault(history, one)));
      const readings = history.observations.flatMap(({ effects, records, from, at }) =>
        effects === null || records === null ? [] : [{ effects, records, from, at, isLast: false }],
      );
      if (history.effects.known && history.records.known) {
        const records = [...history.records.value].flatMap(([key, states]) => states.map((state) => ({ key, state })));
        readings.push({ effects: history.effects.value, records, from: 1_000_000, at: 1_000_000, isLast: true });
      }
      for (const { effects, records, from, at, isLast } of readings) {
        for (const one of attempts) {
          const group = groupOf(history, one);
          const [first] = group;
          const made = group.filter(({ invokedAt }) => isLast || invokedAt <= at);
          if (first === undefined || made.length === 0) continue;
          if (!hasKeyToItself(history, first) || at >= first.invokedAt + Number(contract.retentionMs) * 1000) continue;
          const isDisturbed = ({ attempt }: Recorded) =>
            attempt.malformed !== null || attempt.forged || attempt.condition === "fails";
          if (group.some(isDisturbed)) continue;
          const isMoving = (one: Recorded) => endOf(one) >= from || (isLeft(one) && one.invokedAt + lease <= at);
          if (!isLast && made.some(isMoving)) continue;
          const references = new Set(group.map(({ attempt }) => attempt.reference));
          if (attempts.some((other) => references.has(other.attempt.reference) && !group.includes(other))) continue;
          const n = [...references].reduce((sum, reference) => sum + (effects.get(reference) ?? []).length, 0);
          const mine = records.filter(({ key }) => taken(key) === taken(first.attempt.key ?? ""));
          const ours = records.filter(({ key }) =>
            attempts.some(({ attempt }) => attempt.key !== null && taken(attempt.key) === taken(key)),
          );
          const isDone = mine.some(({ state }) => state === "completed");
          const isAllDone = mine.every(({ state }) => state === "completed");
          const isAcknowledged = made.some(
            (recorded) => succeeded(recorded) && /original|spelling/.test(recorded.attempt.payload.kind),
          );
          const isCharged = [...references].some(
            (reference) =>
              isLast &&
              history.downstream.known &&
              history.downstream.value.get(reference)?.charges.some(({ status }) => status === "succeeded"),
          );
          if (mine.length === 0) {
            if (n === 0 || ours.length === 0 || contract.retentionMs === "undocumented") continue;
            violated += 1;
          } else if (n > 0 ? !isDone : isAllDone && (isAcknowledged || isCharged)) violated += 1;
          else if (n === 0 && isAllDone) continue;
          checked += 1;
        }
      }
      return resultOf(violated, checked);
    },
    6_000,
  );
});

import { expect, test } from "vitest";
import { strict } from "../contracts/strict.ts";
import type { Outcome } from "../operation.ts";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { type AttemptSketch, answer, HistorySketch, lost } from "../testing/history-builder.ts";
import {
  groupOf,
  hasKeyToItself,
  idOf,
  inTime,
  marked,
  mismatched,
  resultOf,
  statusOf,
  succeeded,
} from "../testing/naive.ts";
import { distinctKeysStayDistinct } from "./distinct-keys-stay-distinct.ts";

const check = (sketch: HistorySketch) => distinctKeysStayDistinct.check(sketch.build());
const replayed = { "idempotency-replayed": "true" };
/** An operation with a key of its own, beside the one that is sketched. */
const beside = (outcome: Outcome, sketch: AttemptSketch = {}) =>
  new HistorySketch()
    .attempt({ operation: "first", key: "k1" }, 0, 10, answer(201, { of: "first" }))
    .attempt({ operation: "second", key: "k2", ...sketch }, 20, 30, outcome);

test("a mismatch told to a key that was used for one request only is a violation", () => {
  expect(check(beside(answer(422, { error: "mismatch" })))).toEqual({
    result: "fail",
    checked: 2,
    violations: [
      {
        message: "a2 (422) was refused as a mismatch, and no other request ever used the key k2",
        expected: "the answer to a key that is used for one request only",
        actual: '422 {"error":"mismatch"}',
        key: "k2",
        attempts: ["a2"],
      },
    ],
  });
});

test("the first answer to a key that is marked as a replay is a violation", () => {
  expect(check(beside(answer(201, {}, replayed)))).toMatchObject({
    violations: [{ actual: "idempotency-replayed: true", attempts: ["a2"] }],
  });
  expect(check(beside(answer(201, { of: "first" }, replayed)))).toMatchObject({
    violations: [{ message: expect.stringMatching(/is marked as a replay: the key k1 got the same answer$/) }],
  });
});

test("a success that shows another operation and not its own is a violation", () => {
  expect(check(beside(answer(201, { of: "first" })))).toMatchObject({
    violations: [
      {
        message: expect.stringMatching(/was answered with first, another operation's, which was sent with the key k1$/),
        expected: "an answer to second",
        actual: '{"of":"first"}',
        attempts: ["a2"],
      },
    ],
  });
});

test("answers of their own are right, and so are marked replays later on", () => {
  const sketch = beside(answer(201, { of: "second" }))
    .attempt({ operation: "first", key: "k1" }, 40, 50, answer(201, { of: "first" }, replayed))
    .attempt({ operation: "second", key: "k2" }, 40, 50, answer(201, { of: "second" }, replayed));
  expect(check(sketch)).toEqual({ result: "pass", checked: 2 });
});

test.each<[string, Outcome, AttemptSketch]>([
  ["that shows its own reference beside another", answer(201, { of: "second", before: "first" }), {}],
  ["that repeats another reference which it was sent", answer(201, { of: "first" }), { body: '{"of":"first"}' }],
  ["with a word that only contains a reference", answer(201, { of: "firstly" }), {}],
  ["that is a server error", answer(500, { of: "first" }), {}],
  ["that refuses an invalid request with the same status", answer(422), { payload: { kind: "invalid" } }],
  ["that was lost", lost, {}],
  ["of a conflict", answer(409), {}],
])("an answer %s is right, or shows nothing", (_, outcome, sketch) => {
  expect(check(beside(outcome, sketch)).result).toMatch(/pass|skip/);
});

test("a status for both mismatch and invalid is a mismatch where the request is known to be valid", () => {
  const mismatch = [{ status: 400 }];
  expect(check(beside(answer(400)).contract({ mismatch })).result).toBe("fail");
  const changed: AttemptSketch = { payload: { kind: "changed", field: "/amount" } };
  expect(check(beside(answer(400), changed).contract({ mismatch })).result).toBe("pass");
});

test("a status for both mismatch and conflict may be a conflict", () => {
  expect(check(beside(answer(409)).contract({ mismatch: [{ status: 409 }] })).result).toBe("pass");
});

test("a first attempt beside others, or with forged headers, may rightly be marked", () => {
  const marked = answer(201, {}, replayed);
  expect(check(beside(marked).attempt({ operation: "second", key: "k2" }, 25, 40)).result).toBe("pass");
  expect(check(beside(marked, { forged: true })).result).toBe("pass");
  expect(check(beside(marked).contract({ replay: { ...strict.replay, marker: null } })).result).toBe("pass");
});

test("after retention a used key may be refused", () => {
  const sketch = (at: number) =>
    beside(answer(201))
      .contract({ retentionMs: 100 })
      .attempt({ operation: "second", key: "k2" }, at, at + 10, answer(422));
  expect(check(sketch(100)).result).toBe("fail");
  expect(check(sketch(110)).result).toBe("pass");
});

test.each<[string, AttemptSketch]>([
  ["two payloads", { payload: { kind: "other" } }],
  ["two operations", { operation: "third" }],
  ["two spellings", { body: "{ }" }],
  ["two callers", { caller: "bob" }],
  ["a malformed key", { malformed: "charset" }],
])("a key with %s is not judged, and one key alone has none to be taken for", (_, more) => {
  const sketch = beside(answer(201)).attempt({ operation: "second", key: "k2", ...more }, 40, 50, answer(422));
  expect(check(sketch)).toMatchObject({ result: "skip", excused: false });
});

test("keys that a target may take for one are not judged", () => {
  const cased = (caseSensitive: true | "undocumented", key: string) =>
    beside(answer(422), { key }).contract({ key: { ...strict.key, caseSensitive } });
  expect(check(cased(true, "K1")).result).toBe("fail");
  expect(check(cased("undocumented", "K1")).result).toBe("skip");
  expect(check(cased("undocumented", "k2")).result).toBe("fail");
  // Blanks at the end of a header are no part of its value; in a body they are.
  expect(check(beside(answer(422), { key: "k1 " })).result).toBe("skip");
  const inBody = { ...strict.key, placement: { body: "/key" } };
  expect(check(beside(answer(422), { key: "k1 " }).contract({ key: inBody })).result).toBe("fail");
});

test("agrees with a brute-force checker", () => {
  agreesWith(
    distinctKeysStayDistinct,
    (history) => {
      const judgedKeys = new Set<string>();
      let checked = 0;
      let violated = 0;
      for (const one of history.attempts) {
        const group = groupOf(history, one);
        const [first] = group;
        if (first === undefined || !hasKeyToItself(history, one)) continue;
        if (group.some(({ attempt }) => attempt.malformed !== null)) continue;
        if (group.some(({ attempt }) => attempt.fingerprint !== one.attempt.fingerprint)) continue;
        judgedKeys.add(one.attempt.key ?? "");
        if (statusOf(one) === 0) continue;
        checked += 1;
        const { kind } = one.attempt.payload;
        const isLone = group.every((other) => other === one || other.invokedAt > one.completedAt);
        const isForeign = history.attempts.some(
          ({ attempt: { reference } }) => reference === idOf(one) && reference !== one.attempt.reference,
        );
        if (mismatched(history, one) && inTime(history, first, one) && kind !== "invalid") violated += 1;
        else if (isLone && marked(one) && !one.attempt.forged) violated += 1;
        else if (succeeded(one) && isForeign) violated += 1;
      }
      return judgedKeys.size < 2 ? "skip" : resultOf(violated, checked);
    },
    6_000,
  );
});

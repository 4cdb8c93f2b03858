import { expect, test } from "vitest";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { type CallSketch, HistorySketch, lost } from "../testing/history-builder.ts";
import { outlives, resultOf } from "../testing/naive.ts";
import { oneDownstreamOperation } from "./one-downstream-operation.ts";

const check = (sketch: HistorySketch) => oneDownstreamOperation.check(sketch.build());
const charge = { endpoint: "charge" };
const retried = () => new HistorySketch().attempt(charge, 0, 20, lost).attempt(charge, 30, 50).books([]);
const after = (...calls: readonly CallSketch[]) => check(retried().account(calls));

test("two charges of one operation are a violation that names the attempts", () => {
  expect(after({ result: "charged" }, { result: "charged" })).toMatchObject({
    result: "fail",
    checked: 1,
    violations: [{ attempts: ["a1", "a2"], expected: "at most 1 charge(s)" }],
  });
});

test("a fresh key for the second call, or none, is a violation though it was charged once", () => {
  expect(after({ result: "failed", key: "one" }, { result: "charged", key: "two" })).toMatchObject({
    violations: [{ actual: "2 keys" }],
  });
  expect(after({ result: "charged", key: null })).toMatchObject({ violations: [{ actual: "a call without a key" }] });
});

test("calls under one key and one charge are right, and so are status queries and a decline", () => {
  expect(after({ result: "charged" }, { result: "found" }, { result: "replayed" })).toEqual({
    result: "pass",
    checked: 1,
  });
  expect(after({ result: "declined" }, { result: "declined" })).toEqual({ result: "pass", checked: 1 });
  expect(after({ result: "unknown", key: "another" }, { result: "charged" }).result).toBe("pass");
});

test("operations that share a reference on purpose are charged once each", () => {
  const shared = new HistorySketch()
    .attempt({ ...charge, operation: "one", key: "1", reference: "op" }, 0, 20)
    .attempt({ ...charge, operation: "two", key: "2", reference: "op" }, 0, 20)
    .books([]);
  const calls = (...keys: string[]) => shared.account(keys.map((key) => ({ result: "charged", key })));
  expect(check(calls("1", "2")).result).toBe("pass");
  expect(check(calls("1", "2", "3")).result).toBe("fail");
});

test("a retry after retention may charge again", () => {
  const late = new HistorySketch()
    .contract({ retentionMs: 100 })
    .attempt(charge, 0, 20)
    .attempt(charge, 150, 170)
    .books([]);
  expect(check(late.account([{ result: "charged" }, { result: "charged" }])).result).toBe("skip");
});

test("without a processor it is excused, with an account that was never read it is inconclusive", () => {
  expect(check(retried())).toMatchObject({ result: "skip", excused: true });
  expect(check(new HistorySketch().attempt(charge, 0, 20).account([])).result).toBe("inconclusive");
  expect(after()).toMatchObject({ result: "skip", excused: false });
});

test("agrees with a brute-force checker", () => {
  agreesWith(oneDownstreamOperation, (history) => {
    if (!history.downstream.known) return history.downstream.absent ? "skip" : "inconclusive";
    let checked = 0;
    let violated = 0;
    for (const [reference, { calls, charges }] of history.downstream.value) {
      const names = history.operations.filter((one) => one.reference === reference);
      const made = calls.filter(({ kind }) => kind === "charge");
      if (names.length === 0 || made.length === 0 || names.some((one) => outlives(history, one))) continue;
      checked += 1;
      const isRight =
        charges.filter(({ status }) => status === "succeeded").length <= names.length &&
        made.every(({ key }) => key !== null) &&
        new Set(made.map(({ key }) => key)).size <= names.length;
      if (!isRight) violated += 1;
    }
    return resultOf(violated, checked);
  });
});

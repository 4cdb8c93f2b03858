import { expect, test } from "vitest";
import { contracts } from "../contracts/list.ts";
import { judge } from "../judge.ts";
import { historyOf } from "../reading/history-builder.ts";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { type CallSketch, HistorySketch, lost } from "../testing/history-builder.ts";
import { outlives, resultOf } from "../testing/naive.ts";
import { noBlindReexecution } from "./no-blind-reexecution.ts";

const check = (sketch: HistorySketch) => noBlindReexecution.check(sketch.build());
const charge = { endpoint: "charge" };
const retried = () => new HistorySketch().attempt(charge, 0, 20, lost).attempt(charge, 30, 50).books([]);
const after = (...results: CallSketch["result"][]) => check(retried().account(results.map((result) => ({ result }))));

test("a second call without a question in between is a violation, whatever became of the first", () => {
  for (const first of ["charged", "declined", "failed"] as const) {
    expect(after(first, "replayed").result, first).toBe("fail");
  }
  expect(after("failed", "unknown", "failed", "charged")).toMatchObject({
    result: "fail",
    checked: 1,
    violations: [{ attempts: ["a1", "a2"], actual: "a second call, charged, after the first" }],
  });
});

test("one call, and a second after a status query, are right", () => {
  expect(after("charged")).toEqual({ result: "pass", checked: 1 });
  expect(after("failed", "unknown", "charged", "found")).toEqual({ result: "pass", checked: 1 });
});

test("a question before the first call does not serve for the second", () => {
  expect(after("unknown", "failed", "charged").result).toBe("fail");
});

test("a call that is decided late came in before those who were told that it is in flight", () => {
  expect(after("query-in-flight", "charged").result).toBe("pass");
  expect(after("query-in-flight", "in-flight", "charged").result).toBe("pass");
  expect(after("in-flight", "charged").result).toBe("fail");
});

test("of several operations under one reference each calls on its own", () => {
  const shared = retried().attempt({ ...charge, operation: "twin", reference: "op", key: "twin" }, 60, 70);
  expect(check(shared.account([{ result: "charged" }, { result: "charged" }])).result).toBe("skip");
});

test("without a processor it is excused, and a retry after retention may call again", () => {
  expect(check(retried())).toMatchObject({ result: "skip", excused: true });
  const late = new HistorySketch()
    .contract({ retentionMs: 40 })
    .attempt(charge, 0, 20)
    .attempt(charge, 30, 50)
    .books([]);
  expect(check(late.account([{ result: "charged" }, { result: "charged" }])).result).toBe("skip");
});

test("only the strict contract promises it; elsewhere it is reported and fails nothing", () => {
  for (const contract of contracts) {
    const blind = retried()
      .contract(contract)
      .account([{ result: "failed" }, { result: "charged" }]);
    const { level } = judge(historyOf(blind.events()), [noBlindReexecution]).invariants[0] ?? {};
    expect([contract.id, level]).toEqual([contract.id, contract.id === "strict" ? "must" : "info"]);
  }
});

test("agrees with a brute-force checker", () => {
  agreesWith(noBlindReexecution, (history) => {
    if (!history.downstream.known) return history.downstream.absent ? "skip" : "inconclusive";
    let checked = 0;
    let violated = 0;
    for (const { reference, ...operation } of history.operations) {
      if (history.operations.filter((one) => one.reference === reference).length > 1) continue;
      if (outlives(history, operation)) continue;
      let calls = history.downstream.value.get(reference)?.calls ?? [];
      // What is decided late came first: before the earliest that was told so since the last such decision.
      for (let start = 0, at = 0; at < calls.length; at += 1) {
        const one = calls[at];
        const told = calls.findIndex(
          ({ result, key }, index) => index >= start && index < at && result === "in-flight" && key === one?.key,
        );
        if (one === undefined || one.kind === "query" || one.result === "in-flight" || told < 0) continue;
        calls = [...calls.slice(0, told), one, ...calls.slice(told, at), ...calls.slice(at + 1)];
        start = at + 1;
      }
      const order = calls.map(({ kind }) => (kind === "charge" ? "c" : "q")).join("");
      if (!order.includes("c")) continue;
      checked += 1;
      if (order.includes("cc")) violated += 1;
    }
    return resultOf(violated, checked);
  });
});

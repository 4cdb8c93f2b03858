import { expect, test } from "vitest";
import type { History } from "../history.ts";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { answer, effect, HistorySketch } from "../testing/history-builder.ts";
import { atMostOneEffect } from "./at-most-one-effect.ts";

test("two effects of one operation are a violation that names the attempts", () => {
  const history = new HistorySketch()
    .attempt({}, 0, 20, answer(201, { id: 1 }))
    .attempt({}, 1, 21, answer(201, { id: 2 }))
    .books([effect("op"), effect("op")])
    .build();
  expect(atMostOneEffect.check(history)).toMatchObject({
    result: "fail",
    checked: 1,
    violations: [{ key: "key", attempts: ["a1", "a2"], expected: "at most 1 effect(s)" }],
  });
});

test("where every key outlived its retention there is nothing to look at, and that is the reason", () => {
  const sketch = new HistorySketch().contract({ retentionMs: 100 }).attempt({}, 0, 20).attempt({}, 200, 220);
  expect(atMostOneEffect.check(sketch.books([effect("op"), effect("op")]).build())).toEqual({
    result: "skip",
    reason: "every key outlived its retention of 100 ms, and may rightly have executed again",
    excused: false,
  });
});

test("one effect, or none, is right", () => {
  const history = new HistorySketch()
    .attempt({}, 0, 20)
    .attempt({ operation: "lost", key: "other" }, 0, 20)
    .books([effect("op")])
    .build();
  expect(atMostOneEffect.check(history)).toEqual({ result: "pass", checked: 2 });
});

test("operations that share a reference on purpose take effect once each", () => {
  const twice = new HistorySketch()
    .attempt({ operation: "one", key: "1", reference: "same" }, 0, 20)
    .attempt({ operation: "two", key: "2", reference: "same" }, 0, 20);
  expect(twice.books([effect("same"), effect("same")]).build()).toSatisfy(
    (history: History) => atMostOneEffect.check(history).result === "pass",
  );
});

test("a retry after retention may execute again", () => {
  const history = new HistorySketch()
    .contract({ retentionMs: 100 })
    .attempt({}, 0, 20)
    .attempt({}, 150, 170)
    .books([effect("op"), effect("op")])
    .build();
  expect(atMostOneEffect.check(history).result).toBe("skip");
});

test("without books it is skipped, with books that were never quiet it is inconclusive", () => {
  const sketch = () => new HistorySketch().attempt({}, 0, 20);
  expect(atMostOneEffect.check(sketch().withoutBooks().build()).result).toBe("skip");
  expect(atMostOneEffect.check(sketch().books([], { quiet: false }).build()).result).toBe("inconclusive");
});

test("agrees with a brute-force checker", () => {
  agreesWith(atMostOneEffect, (history) => {
    if (!history.effects.known) return history.effects.absent ? "skip" : "inconclusive";
    const { retentionMs } = history.contract;
    let checked = 0;
    let violated = 0;
    for (const reference of new Set(history.attempts.map(({ attempt }) => attempt.reference))) {
      const names = new Set(
        history.operations.filter((one) => one.reference === reference).map((one) => one.operation),
      );
      const isLate = [...names].some((name) => {
        const all = history.attempts.filter(({ attempt }) => attempt.operation === name);
        const first = Math.min(...all.map(({ invokedAt }) => invokedAt));
        return all.some(({ invokedAt, completedAt }) => {
          const last = Number.isFinite(completedAt) ? completedAt : invokedAt;
          return retentionMs !== "undocumented" && last >= first + retentionMs * 1000;
        });
      });
      if (names.size === 0 || isLate) continue;
      checked += 1;
      if ((history.effects.value.get(reference) ?? []).length > names.size) violated += 1;
    }
    return violated > 0 ? "fail" : checked > 0 ? "pass" : "skip";
  });
});

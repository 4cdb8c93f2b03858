import { expect, test } from "vitest";
import type { History } from "../history.ts";
import type { Outcome } from "../operation.ts";
import { agreesWith, oneKeyHistory } from "../testing/arbitrary-history.ts";
import { answer, HistorySketch, lost, respelled } from "../testing/history-builder.ts";
import { bodyOf, groupOf, inTime, resultOf, succeeded } from "../testing/naive.ts";
import { replayIsIdentical } from "./replay-is-identical.ts";

const check = (sketch: HistorySketch) => replayIsIdentical.check(sketch.build());
const replay = { body: "verbatim", statuses: [], headers: ["Location"], marker: null } as const;

test("another body for the same request is a violation that shows both answers", () => {
  const sketch = new HistorySketch()
    .attempt({}, 0, 10, answer(201, { id: 1 }))
    .attempt({}, 20, 30, answer(201, { id: 1 }))
    .attempt({}, 40, 50, answer(201, { id: 2 }))
    .attempt({}, 60, 70, answer(201, { id: 3 }));
  expect(check(sketch)).toEqual({
    result: "fail",
    checked: 2,
    violations: [
      {
        message: "a1 (201) and a3 (201) answered one key with another body at /id",
        expected: '{"id":1}',
        actual: '{"id":2}',
        key: "key",
        attempts: ["a1", "a3"],
      },
    ],
  });
});

test("of long bodies it shows the place where they differ, and of another spelling it says what it is", () => {
  const [id, note] = ["i".repeat(300), "n".repeat(300)];
  const after = (second: Outcome) =>
    check(new HistorySketch().attempt({}, 0, 10, answer(201, { note, id: `${id}1` })).attempt({}, 20, 30, second));
  expect(after(answer(201, { note, id: `${id}2` }))).toMatchObject({
    violations: [
      {
        message: expect.stringMatching(/another body at \/id$/),
        expected: expect.stringMatching(/^…i+1"$/),
        actual: expect.stringMatching(/^…i+2"$/),
      },
    ],
  });
  expect(after(respelled(answer(201, { note, id: `${id}1` })))).toMatchObject({
    violations: [{ message: "a1 (201) and a2 (201) answered one key with another body: the same JSON in other bytes" }],
  });
});

test("the first success is the one that was received first, not the one that was sent first", () => {
  const sketch = new HistorySketch()
    .attempt({}, 0, 30, answer(201, { id: 2 }))
    .attempt({}, 1, 10, answer(201, { id: 1 }))
    .attempt({}, 2, 20, answer(201, { id: 1 }));
  expect(check(sketch)).toMatchObject({ violations: [{ attempts: ["a2", "a1"] }] });
});

test("a promised header that is missing or other is a violation; one that is not promised is none", () => {
  const sketch = (headers: Readonly<Record<string, string>>) =>
    new HistorySketch()
      .attempt({}, 0, 10, answer(201, {}, { location: "/1", date: "1" }))
      .attempt({}, 20, 30, answer(201, {}, headers));
  expect(check(sketch({ location: "/1", date: "2", "idempotency-replayed": "true" })).result).toBe("pass");
  expect(check(sketch({ location: "/2" }))).toMatchObject({ violations: [{ expected: "/1", actual: "/2" }] });
  expect(check(sketch({}))).toMatchObject({ violations: [{ actual: "no such header" }] });
});

test("a status by which the contract replays is right, whichever answer is received first", () => {
  const sketch = (first: number, second: number) =>
    new HistorySketch()
      .contract({ replay: { ...replay, statuses: [200], headers: [] } })
      .attempt({}, 0, 10, answer(first))
      .attempt({}, 1, 12, answer(second));
  expect(check(sketch(201, 200)).result).toBe("pass");
  expect(check(sketch(200, 201)).result).toBe("pass");
});

test("two statuses of success are two answers, where the contract does not say otherwise", () => {
  const history = new HistorySketch().attempt({}, 0, 10).attempt({}, 20, 30, answer(202)).build();
  const create = { success: [201, 202], invalidStatus: [400], answer: null, slowMs: null };
  const run = { ...history.run, endpoints: { create } };
  expect(replayIsIdentical.check({ ...history, run })).toMatchObject({
    result: "fail",
    violations: [{ expected: "201", actual: "202" }],
  });
});

test("a body that may move on is not compared", () => {
  const sketch = new HistorySketch()
    .contract({ replay: { ...replay, body: "current-state", statuses: [], headers: [] } })
    .attempt({}, 0, 10, answer(201, { state: "pending" }))
    .attempt({}, 20, 30, answer(201, { state: "settled" }));
  expect(check(sketch)).toEqual({ result: "pass", checked: 1 });
});

test("another payload, another scope, no key and what is no success are not compared", () => {
  const sketch = new HistorySketch()
    .attempt({}, 0, 10, answer(201, { id: 1 }))
    .attempt({ payload: { kind: "other" } }, 20, 30, answer(201, { id: 2 }))
    .attempt({ caller: "bob" }, 20, 30, answer(201, { id: 3 }))
    .attempt({ query: "q=1" }, 20, 30, answer(201, { id: 4 }))
    .attempt({ endpoint: "refund" }, 20, 30, answer(201, { id: 5 }))
    .attempt({ key: null }, 20, 30, answer(201, { id: 6 }))
    .attempt({ key: null }, 20, 30, answer(201, { id: 7 }))
    .attempt({}, 20, 30, answer(409, { id: 8 }))
    .attempt({}, 20, 30, lost);
  expect(check(sketch)).toMatchObject({ result: "skip", excused: false });
});

test("after retention another answer is right", () => {
  const sketch = (until: number) =>
    new HistorySketch()
      .contract({ retentionMs: 100 })
      .attempt({}, 0, 10, answer(201, { id: 1 }))
      .attempt({}, 90, until, answer(201, { id: 2 }));
  expect(check(sketch(99)).result).toBe("fail");
  expect(check(sketch(100)).result).toBe("skip");
});

test("agrees with a brute-force checker", () => {
  agreesWith(replayIsIdentical, bruteForce, 6_000);
  agreesWith(replayIsIdentical, bruteForce, 2_000, oneKeyHistory);
});

function bruteForce(history: History): string {
  let checked = 0;
  let violated = 0;
  for (const later of history.attempts) {
    const group = groupOf(history, later);
    const [oldest] = group;
    if (oldest === undefined) continue;
    const successes = group.filter((one) => succeeded(one) && inTime(history, oldest, one));
    const receivedFirst = Math.min(...successes.map(({ completedAt }) => completedAt));
    const first = successes.find(({ completedAt }) => completedAt === receivedFirst);
    if (first === undefined || first === later || !successes.includes(later)) continue;
    if (first.attempt.fingerprint !== later.attempt.fingerprint) continue;
    checked += 1;
    const location = (one: typeof later) => one.outcome.kind === "responded" && one.outcome.headers["location"];
    if (bodyOf(first) !== bodyOf(later) || location(first) !== location(later)) violated += 1;
  }
  return resultOf(violated, checked);
}

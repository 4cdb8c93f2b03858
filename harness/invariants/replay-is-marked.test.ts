import fc from "fast-check";
import { expect, test } from "vitest";
import { strict } from "../contracts/strict.ts";
import { agreesWith, historiesWith, variedContract } from "../testing/arbitrary-history.ts";
import { answer, HistorySketch, lost } from "../testing/history-builder.ts";
import {
  certainKeys,
  earliestSuccess,
  headerOf,
  remembered,
  resultOf,
  sameAnswer,
  sameRequest,
  succeeded,
} from "../testing/naive-answers.ts";
import { replayIsMarked } from "./replay-is-marked.ts";

const marked = answer(201, { id: 1 }, { "idempotency-replayed": "true" });
const plain = answer(201, { id: 1 });

test("a replay without the marker is a violation that names the first answer and the replay", () => {
  const history = new HistorySketch().attempt({}, 0, 20, plain).attempt({}, 30, 40, plain).attempt({}, 50, 60, plain);
  expect(replayIsMarked.check(history.build())).toEqual({
    result: "fail",
    checked: 3,
    violations: [
      {
        message: "a2 (201) repeats the answer of a1 (201) and is not marked as a replay",
        expected: "idempotency-replayed: true",
        actual: "no such header",
        key: "key",
        attempts: ["a1", "a2"],
      },
    ],
  });
});

test("a first answer that calls itself a replay is a violation", () => {
  const history = new HistorySketch().attempt({}, 0, 20, marked).attempt({}, 30, 40, marked).build();
  expect(replayIsMarked.check(history)).toMatchObject({
    result: "fail",
    violations: [{ attempts: ["a1"], expected: "not idempotency-replayed: true" }],
  });
});

test("a marker with another value is no marker", () => {
  const denied = answer(201, { id: 1 }, { "idempotency-replayed": "false" });
  const history = new HistorySketch().attempt({}, 0, 20, denied).attempt({}, 30, 40, denied).build();
  expect(replayIsMarked.check(history)).toMatchObject({
    violations: [{ attempts: ["a1", "a2"], actual: "idempotency-replayed: false" }],
  });
});

test("an unmarked first answer and marked replays are right, whatever the case of the marker", () => {
  const loud = answer(201, { id: 1 }, { "idempotency-replayed": "TRUE" });
  const history = new HistorySketch().attempt({}, 0, 20, plain).attempt({}, 30, 40, marked).attempt({}, 50, 60, loud);
  expect(replayIsMarked.check(history.build())).toEqual({ result: "pass", checked: 3 });
});

test("another answer is no replay, and needs no marker", () => {
  const sketch = () => new HistorySketch().attempt({}, 0, 20, plain).attempt({}, 30, 40, answer(201, { id: 2 }));
  expect(replayIsMarked.check(sketch().build())).toEqual({ result: "pass", checked: 1 });
  const moved = { replay: { ...strict.replay, body: "current-state" as const } };
  expect(replayIsMarked.check(sketch().contract(moved).build()).result).toBe("fail");
});

test("of attempts that were in flight together any may be the first", () => {
  const history = new HistorySketch().attempt({}, 0, 20, marked).attempt({}, 1, 30, plain).attempt({}, 20, 40, plain);
  expect(replayIsMarked.check(history.build()).result).toBe("skip");
});

test("the first answer that came may repeat one that was lost", () => {
  const history = new HistorySketch().attempt({}, 0, 20, lost).attempt({}, 30, 40, marked).attempt({}, 50, 60, marked);
  expect(replayIsMarked.check(history.build())).toEqual({ result: "pass", checked: 1 });
});

test("after retention an unmarked success is a first answer again", () => {
  const history = new HistorySketch().contract({ retentionMs: 100 }).attempt({}, 0, 20, plain);
  expect(replayIsMarked.check(history.attempt({}, 150, 160, plain).build())).toEqual({ result: "pass", checked: 1 });
});

test("another spelling is a request of its own where the contract reads bytes", () => {
  const spelled = { payload: { kind: "spelling", name: "reordered" } } as const;
  const sketch = () => new HistorySketch().attempt({}, 0, 20, plain).attempt(spelled, 30, 40, plain);
  expect(replayIsMarked.check(sketch().build()).result).toBe("fail");
  expect(replayIsMarked.check(sketch().contract({ fingerprint: "raw" }).build()).result).toBe("pass");
});

test("a contract without a marker is excused", () => {
  const replay = { body: "verbatim", statuses: [], headers: [], marker: null } as const;
  const history = new HistorySketch().contract({ replay: { ...replay, statuses: [], headers: [] } }).attempt({}, 0, 20);
  expect(replayIsMarked.check(history.build())).toMatchObject({ result: "skip", excused: true });
});

test("agrees with a brute-force checker", () => {
  const histories = historiesWith({
    contract: variedContract,
    sketch: fc.record({ malformed: fc.constantFrom(null, null, null, null, "empty" as const) }),
  });
  agreesWith(
    replayIsMarked,
    (history) => {
      const { contract } = history;
      if (contract.replay.marker === null) return "skip";
      let checked = 0;
      let violated = 0;
      for (const attempts of certainKeys(history)) {
        const within = remembered(contract, attempts);
        const owner = earliestSuccess(within);
        if (owner === undefined) continue;
        const isMarked = (one: typeof owner) => headerOf(one, "idempotency-replayed") === "true";
        if (attempts.every((one) => one === owner || one.invokedAt > owner.completedAt)) {
          checked += 1;
          if (isMarked(owner)) violated += 1;
        }
        for (const later of within) {
          if (!succeeded(later) || later.invokedAt <= owner.completedAt || later.attempt.condition === "fails")
            continue;
          if (!sameRequest(contract, owner, later) || !sameAnswer(contract, owner, later)) continue;
          checked += 1;
          if (!isMarked(later)) violated += 1;
        }
      }
      return resultOf(checked, violated);
    },
    4_000,
    histories,
  );
});

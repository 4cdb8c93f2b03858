import fc from "fast-check";
import { expect, test } from "vitest";
import { agreesWith, historiesWith, onOneKey, variedContract } from "../testing/arbitrary-history.ts";
import { answer, HistorySketch, lost } from "../testing/history-builder.ts";
import {
  certainKeys,
  earliestSuccess,
  remembered,
  resultOf,
  sameAnswer,
  sameRequest,
  statusOf,
  turnedAway,
} from "../testing/naive-answers.ts";
import { onceCompletedAlwaysCompleted } from "./once-completed-always-completed.ts";

const check = (sketch: HistorySketch) => onceCompletedAlwaysCompleted.check(sketch.build());
const first = answer(201, { id: 1 });
const completed = () => new HistorySketch().attempt({}, 0, 20, first);

test("a conflict after the completed answer is a violation that names both attempts", () => {
  expect(check(completed().attempt({}, 30, 40, first).attempt({}, 50, 60, answer(409)))).toEqual({
    result: "fail",
    checked: 2,
    violations: [
      {
        message: "a1 (201) had completed the request, and the later a3 (409) got another status",
        expected: "201",
        actual: "409",
        key: "key",
        attempts: ["a1", "a3"],
      },
    ],
  });
});

test("another success, or any refusal, after the completed answer is a violation", () => {
  expect(check(completed().attempt({}, 30, 40, answer(201, { id: 2 }))).result).toBe("fail");
  expect(check(completed().attempt({}, 30, 40, answer(422))).result).toBe("fail");
});

test("the same answer with other headers is right, and another body where a replay shows the current state", () => {
  expect(check(completed().attempt({}, 30, 40, answer(201, { id: 1 }, { date: "later" })))).toEqual({
    result: "pass",
    checked: 1,
  });
  const replay = { body: "current-state" as const, statuses: [200], headers: [], marker: null };
  expect(
    check(
      completed()
        .contract({ replay })
        .attempt({}, 30, 40, answer(200, { id: 1, state: "paid" })),
    ).result,
  ).toBe("pass");
});

test("an attempt that overlaps the first answer, also at equal times, may be told to wait", () => {
  expect(check(completed().attempt({}, 5, 30, answer(409)).attempt({}, 20, 30, answer(409))).result).toBe("skip");
});

test("another payload may be refused, and so may another caller", () => {
  const sketch = completed().attempt({ payload: { kind: "changed", field: "/amount" } }, 30, 40, answer(422));
  expect(check(sketch.attempt({ caller: "bob" }, 30, 40, answer(422))).result).toBe("skip");
});

test("server errors, silence, rate limits and requests that were to fail are not judged", () => {
  const sketch = completed()
    .attempt({}, 50, 60, answer(500))
    .attempt({}, 50, 60, lost)
    .attempt({}, 50, 60, answer(401))
    .attempt({ condition: "fails" }, 50, 60, answer(400));
  expect(check(sketch)).toMatchObject({ result: "skip", excused: false });
});

test("a rate limit's status is judged where it is the contract's word for in flight", () => {
  const inFlight = { answers: [{ status: 429 }], retryAfter: "optional" as const };
  expect(check(completed().contract({ inFlight }).attempt({}, 30, 40, answer(429))).result).toBe("fail");
});

test("a body that says in flight is no completed answer, whatever its status", () => {
  const inFlight = { answers: [{ status: 201, pointer: "/state", value: "busy" }], retryAfter: "optional" as const };
  const sketch = new HistorySketch().contract({ inFlight }).attempt({}, 0, 20, answer(201, { state: "busy" }));
  expect(check(sketch.attempt({}, 30, 40, first).attempt({}, 50, 60, first))).toEqual({ result: "pass", checked: 1 });
});

test("after retention the request may be executed again", () => {
  expect(check(completed().contract({ retentionMs: 100 }).attempt({}, 90, 110, answer(409))).result).toBe("skip");
});

test("agrees with a brute-force checker", () => {
  const histories = fc.oneof(
    historiesWith({ contract: variedContract, ...onOneKey }),
    historiesWith({ contract: variedContract }),
  );
  agreesWith(
    onceCompletedAlwaysCompleted,
    (history) => {
      const { contract } = history;
      let checked = 0;
      let violated = 0;
      for (const all of certainKeys(history)) {
        const attempts = remembered(contract, all);
        const owner = earliestSuccess(attempts);
        for (const later of attempts) {
          if (owner === undefined || later.invokedAt <= owner.completedAt) continue;
          if (later.attempt.condition === "fails" || !sameRequest(contract, owner, later)) continue;
          const status = statusOf(later);
          if (status === 0 || status >= 500 || turnedAway(contract, later)) continue;
          checked += 1;
          if (!sameAnswer(contract, owner, later)) violated += 1;
        }
      }
      return resultOf(checked, violated);
    },
    4_000,
    histories,
  );
});

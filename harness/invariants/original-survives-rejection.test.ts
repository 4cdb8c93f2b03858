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
import { originalSurvivesRejection } from "./original-survives-rejection.ts";

const check = (sketch: HistorySketch) => originalSurvivesRejection.check(sketch.build());
const other = { operation: "other", payload: { kind: "other" } } as const;
const first = answer(201, { id: 1 });
const rejected = () => new HistorySketch().attempt({}, 0, 20, first).attempt(other, 30, 40, answer(422));

test("an original that is lost after a rejection is a violation that names all three attempts", () => {
  const sketch = rejected().attempt(other, 41, 44, answer(422)).attempt({}, 50, 60, answer(422));
  expect(check(sketch)).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message:
          "a1 (201) was acknowledged, a2 (422) was rejected under the same key, and then a4 (422) got another status than the original",
        expected: "201",
        actual: "422",
        key: "key",
        attempts: ["a1", "a2", "a4"],
      },
    ],
  });
});

test("another body after a rejection is a violation", () => {
  expect(check(rejected().attempt({}, 50, 60, answer(201, { id: 2 })))).toMatchObject({
    violations: [{ expected: '{"id":1}', actual: '{"id":2}' }],
  });
});

test("the rejection may be a conflict, and may have come before the success was received", () => {
  const sketch = new HistorySketch().attempt({}, 0, 20, first).attempt({}, 5, 10, answer(409));
  expect(check(sketch.attempt({}, 30, 40, answer(409))).result).toBe("fail");
});

test("the original with its answer is right, whatever its headers", () => {
  const sketch = rejected().attempt({}, 50, 60, answer(201, { id: 1 }, { "idempotency-replayed": "true" }));
  expect(check(sketch)).toEqual({ result: "pass", checked: 1 });
});

test("another payload is not the original, and what overlaps or precedes the rejection is not after it", () => {
  expect(check(rejected().attempt(other, 50, 60, answer(422))).result).toBe("skip");
  expect(check(rejected().attempt({}, 40, 60, answer(409))).result).toBe("skip");
  const error = new HistorySketch().attempt({}, 0, 20, first).attempt(other, 30, 40, answer(500));
  expect(check(error.attempt({}, 50, 60, answer(422))).result).toBe("skip");
  const before = new HistorySketch().attempt({}, 0, 20, first).attempt({}, 21, 25, answer(400));
  expect(check(before).result).toBe("skip");
});

test("server errors, silence, rate limits and requests that were to fail are not judged", () => {
  const sketch = rejected()
    .attempt({}, 50, 60, answer(500))
    .attempt({}, 50, 60, lost)
    .attempt({}, 50, 60, answer(429))
    .attempt({ condition: "fails" }, 50, 60, answer(422));
  expect(check(sketch)).toMatchObject({ result: "skip", excused: false });
});

test("after retention, and without a success, nothing has to survive", () => {
  expect(check(rejected().contract({ retentionMs: 45 }).attempt({}, 50, 60, answer(422))).result).toBe("skip");
  const none = new HistorySketch().attempt(other, 0, 20, answer(400)).attempt({}, 30, 40, answer(422));
  expect(check(none).result).toBe("skip");
});

test("agrees with a brute-force checker", () => {
  const histories = fc.oneof(
    historiesWith({ contract: variedContract, ...onOneKey }),
    historiesWith({ contract: variedContract }),
  );
  agreesWith(
    originalSurvivesRejection,
    (history) => {
      const { contract } = history;
      let checked = 0;
      let violated = 0;
      for (const all of certainKeys(history)) {
        const attempts = remembered(contract, all);
        const owner = earliestSuccess(attempts);
        if (owner === undefined) continue;
        for (const original of attempts) {
          const status = statusOf(original);
          if (status === 0 || status >= 500 || turnedAway(contract, original)) continue;
          if (original.attempt.condition === "fails" || !sameRequest(contract, owner, original)) continue;
          const isAfterRejection = attempts.some(
            (one) => statusOf(one) >= 400 && statusOf(one) < 500 && one.completedAt < original.invokedAt,
          );
          if (!isAfterRejection || owner.completedAt >= original.invokedAt) continue;
          checked += 1;
          if (!sameAnswer(contract, owner, original)) violated += 1;
        }
      }
      return resultOf(checked, violated);
    },
    4_000,
    histories,
  );
});

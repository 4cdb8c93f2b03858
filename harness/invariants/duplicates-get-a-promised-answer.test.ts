import fc from "fast-check";
import { expect, test } from "vitest";
import { agreesWith, historiesWith, variedContract } from "../testing/arbitrary-history.ts";
import { answer, HistorySketch, lost } from "../testing/history-builder.ts";
import {
  certainKeys,
  remembered,
  resultOf,
  sameRequest,
  statusOf,
  succeeded,
  toldToWait,
  turnedAway,
} from "../testing/naive-answers.ts";
import { duplicatesGetAPromisedAnswer } from "./duplicates-get-a-promised-answer.ts";

const check = (sketch: HistorySketch) => duplicatesGetAPromisedAnswer.check(sketch.build());

test("a duplicate that is refused for nothing of its own is a violation", () => {
  const sketch = new HistorySketch()
    .attempt({}, 0, 20)
    .attempt({}, 1, 21, answer(404))
    .attempt({}, 2, 22, answer(422))
    .attempt({}, 3, 23, answer(409));
  expect(check(sketch)).toEqual({
    result: "fail",
    checked: 4,
    violations: [
      {
        message: "a2 (404), one of 4 attempts of one request with key key, got an answer that no duplicate is promised",
        expected: "a success, or 409 while in flight",
        actual: "a2 (404)",
        key: "key",
        attempts: ["a2"],
      },
    ],
  });
});

test("a retry that is refused after the success is a violation, the first attempt itself is not looked at", () => {
  expect(check(new HistorySketch().attempt({}, 0, 20).attempt({}, 30, 40, answer(400)))).toMatchObject({
    result: "fail",
    checked: 1,
  });
});

test("successes and conflicts are right, server errors and silence are not looked at", () => {
  const sketch = new HistorySketch()
    .attempt({}, 0, 20)
    .attempt({ condition: "slow" }, 1, 21, answer(409))
    .attempt({ payload: { kind: "spelling", name: "reordered" } }, 2, 22)
    .attempt({}, 3, 23, answer(500))
    .attempt({}, 4, 24, lost);
  expect(check(sketch)).toEqual({ result: "pass", checked: 3 });
});

test("who may not ask, or asks too often, is told so whatever the key", () => {
  const sketch = new HistorySketch().attempt({}, 0, 20);
  for (const status of [401, 403, 429]) sketch.attempt({}, 1, 21, answer(status));
  expect(check(sketch)).toEqual({ result: "pass", checked: 1 });
});

test("a request that is refused on its own is no matter of duplicates", () => {
  const elsewhere = { operation: "two", key: "two" };
  const sketch = new HistorySketch().attempt(elsewhere, 0, 20).attempt({}, 0, 20, answer(404));
  expect(check(sketch.attempt({}, 30, 40, answer(404))).result).toBe("skip");
});

test("an endpoint that never acknowledges anything refuses its requests for another reason", () => {
  const sketch = new HistorySketch().attempt({}, 0, 20, answer(404)).attempt({}, 1, 21, answer(404));
  expect(check(sketch).result).toBe("skip");
  expect(check(sketch.attempt({ operation: "two", key: "two" }, 0, 20)).result).toBe("fail");
});

test("a key of several requests, a malformed one, one asked to fail and one after retention are not judged", () => {
  const first = () => new HistorySketch().attempt({}, 0, 20);
  const rejected = answer(422);
  expect(check(first().attempt({ payload: { kind: "other" } }, 30, 40, rejected)).result).toBe("skip");
  expect(check(first().attempt({ malformed: "charset" }, 30, 40, rejected)).result).toBe("skip");
  expect(check(first().attempt({ condition: "fails" }, 30, 40, rejected)).result).toBe("skip");
  expect(check(first().attempt({ forged: true }, 30, 40, rejected)).result).toBe("skip");
  expect(check(first().contract({ retentionMs: 100 }).attempt({}, 150, 160, rejected)).result).toBe("skip");
  const spelled = first().attempt({ payload: { kind: "spelling", name: "spaced" } }, 30, 40, rejected);
  expect(check(spelled.contract({ fingerprint: "raw" })).result).toBe("skip");
});

test("a key that another caller may share is not judged", () => {
  const sketch = new HistorySketch()
    .contract({ scope: { caller: ["mismatch"], endpoint: ["separate"], query: ["separate"] } })
    .attempt({}, 0, 20)
    .attempt({ caller: "bob" }, 30, 40, answer(422))
    .attempt({ caller: "bob" }, 31, 41, answer(422));
  expect(check(sketch).result).toBe("skip");
});

test("a request that is refused in the end, alone, was refused for itself", () => {
  const declined = answer(402);
  const sketch = () => new HistorySketch().attempt({}, 0, 60, declined).attempt({}, 30, 70, declined);
  const elsewhere = { operation: "b", key: "b", reference: "b" } as const;
  expect(check(sketch().attempt(elsewhere, 200, 210)).result).toBe("fail");
  expect(check(sketch().attempt({}, 100, 110, declined).attempt(elsewhere, 200, 210)).result).toBe("skip");
  expect(check(sketch().attempt({}, 100, 110).attempt(elsewhere, 200, 210)).result).toBe("fail");
});

test("where duplicates are held back a conflict is not promised; a silent contract is excused", () => {
  const sketch = () => new HistorySketch().attempt({}, 0, 20).attempt({}, 1, 21, answer(409));
  expect(check(sketch().contract({ inFlight: { answers: [], retryAfter: "optional" } }))).toMatchObject({
    violations: [{ expected: "a success" }],
  });
  expect(check(sketch().contract({ inFlight: { answers: "undocumented", retryAfter: "optional" } }))).toMatchObject({
    result: "skip",
    excused: true,
  });
});

test("agrees with a brute-force checker", () => {
  const histories = historiesWith({
    contract: variedContract,
    sketch: fc.record({
      operation: fc.constantFrom("one", "one", "two"),
      malformed: fc.constant(null),
      payload: fc.constantFrom({ kind: "original" } as const, { kind: "spelling", name: "spaced" } as const),
    }),
    outcome: fc.constantFrom(...[201, 201, 201, 409, 409, 404, 403, 503].map((status) => answer(status)), lost),
  });
  agreesWith(
    duplicatesGetAPromisedAnswer,
    (history) => {
      const { contract } = history;
      if (contract.inFlight.answers === "undocumented") return "skip";
      let checked = 0;
      let violated = 0;
      for (const attempts of certainKeys(history)) {
        const reached = attempts.filter(({ outcome }) => outcome.kind !== "refused");
        const isLone = (one: (typeof attempts)[number], among: typeof attempts) =>
          among.every((other) => other === one || other.invokedAt > one.completedAt);
        if (attempts.some((one) => attempts.some((other) => !sameRequest(contract, one, other)))) continue;
        if (!history.attempts.some((one) => one.attempt.endpoint === attempts[0]?.attempt.endpoint && succeeded(one)))
          continue;
        const isPromised = (one: (typeof attempts)[number]) => succeeded(one) || toldToWait(contract, one);
        const isBelow500 = (one: (typeof attempts)[number]) => statusOf(one) > 0 && statusOf(one) < 500;
        const refusedAlone = reached.some(
          (one) => isLone(one, reached) && isBelow500(one) && !isPromised(one) && !turnedAway(contract, one),
        );
        const refusedInTheEnd = reached.some(
          (one) =>
            reached.every((other) => other === one || other.completedAt < one.invokedAt) &&
            isBelow500(one) &&
            !isPromised(one) &&
            !turnedAway(contract, one) &&
            !reached.some(succeeded),
        );
        if (refusedAlone || refusedInTheEnd) continue;
        for (const one of remembered(contract, attempts)) {
          if (!isBelow500(one) || turnedAway(contract, one) || isLone(one, attempts)) continue;
          if (one.attempt.condition === "fails" || one.attempt.forged) continue;
          checked += 1;
          if (!isPromised(one)) violated += 1;
        }
      }
      return resultOf(checked, violated);
    },
    4_000,
    histories,
  );
});

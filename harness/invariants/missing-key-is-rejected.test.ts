import { expect, test } from "vitest";
import { strict } from "../contracts/strict.ts";
import type { Outcome } from "../operation.ts";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { type AttemptSketch, answer, HistorySketch, lost } from "../testing/history-builder.ts";
import { resultOf, statusOf } from "../testing/naive.ts";
import { missingKeyIsRejected } from "./missing-key-is-rejected.ts";

const check = (sketch: HistorySketch) => missingKeyIsRejected.check(sketch.build());
const without = (outcome: Outcome, sketch: AttemptSketch = {}) =>
  new HistorySketch().attempt({ key: null, ...sketch }, 0, 5, outcome);
const missing = (promise: typeof strict.key.missing) => ({ key: { ...strict.key, missing: promise } });

test("a request without a key that was executed is a violation, once for each endpoint", () => {
  const sketch = without(answer(201)).attempt({ key: null }, 10, 15).attempt({ key: null, endpoint: "refund" }, 10, 15);
  expect(check(sketch)).toEqual({
    result: "fail",
    checked: 3,
    violations: [
      {
        message: "a1 (201) was sent to create without a key and was not refused for it",
        expected: "400",
        actual: "201",
        key: null,
        attempts: ["a1"],
      },
      expect.objectContaining({ attempts: ["a3"] }),
    ],
  });
});

test("a refusal other than the documented one, and a crash, are violations", () => {
  expect(check(without(answer(422))).result).toBe("fail");
  expect(check(without(answer(500))).result).toBe("fail");
});

test("any of the documented refusals is right", () => {
  expect(check(without(answer(400)))).toEqual({ result: "pass", checked: 1 });
  const problem = [{ status: 401 }, { status: 422, pointer: "/code", value: "no-key" }];
  const one = (outcome: Outcome) => check(without(outcome).contract(missing(problem)));
  expect(one(answer(422, { code: "no-key" })).result).toBe("pass");
  expect(one(answer(422, { code: "other" }))).toMatchObject({
    violations: [{ expected: '401 or 422 with /code "no-key"' }],
  });
});

test.each<[string, HistorySketch]>([
  ["an answer that was lost", without(lost)],
  ["a rate limit", without(answer(429))],
  ["a gateway's answer", without(answer(504))],
  ["a request that is invalid anyway", without(answer(422), { payload: { kind: "invalid" } })],
  ["a request with a key", without(answer(201), { key: "key" })],
  ["the way around the key layer", without(answer(201), { endpoint: "baseline" })],
  ["an empty key", without(answer(201), { key: "", malformed: "empty" })],
])("%s is not judged", (_, sketch) => {
  expect(check(sketch)).toMatchObject({ result: "skip", excused: false });
});

test("where the contract is silent, or lets it execute, it is skipped and excused", () => {
  for (const promise of ["undocumented", "executes"] as const) {
    expect(check(without(answer(201)).contract(missing(promise)))).toMatchObject({ result: "skip", excused: true });
  }
});

test("agrees with a brute-force checker", () => {
  agreesWith(missingKeyIsRejected, (history) => {
    if (typeof history.contract.key.missing === "string") return "skip";
    const statuses = history.attempts
      .filter(({ attempt }) => attempt.key === null)
      .map((recorded) => ({ status: statusOf(recorded), isInvalid: recorded.attempt.payload.kind === "invalid" }))
      .filter(({ status, isInvalid }) => status === 400 || ![0, 429, 503].includes(isInvalid ? 0 : status));
    return resultOf(statuses.filter(({ status }) => status !== 400).length, statuses.length);
  });
});

import { expect, test } from "vitest";
import { strict } from "../contracts/strict.ts";
import type { Outcome } from "../operation.ts";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { type AttemptSketch, answer, HistorySketch, lost } from "../testing/history-builder.ts";
import { resultOf, statusOf } from "../testing/naive.ts";
import { malformedKeyIsRejected } from "./malformed-key-is-rejected.ts";

const check = (sketch: HistorySketch) => malformedKeyIsRejected.check(sketch.build());
const long: AttemptSketch = { malformed: "too-long" };
const empty: AttemptSketch = { malformed: "empty", key: "" };
const sent = (outcome: Outcome, sketch = long) => new HistorySketch().attempt(sketch, 0, 5, outcome);

test("a malformed key that was taken is a violation that says what is wrong with it, once for each kind", () => {
  const sketch = sent(answer(201)).attempt(long, 10, 15).attempt(empty, 10, 15);
  expect(check(sketch.attempt({ malformed: "charset", endpoint: "refund" }, 10, 15))).toEqual({
    result: "fail",
    checked: 4,
    violations: [
      {
        message: "a1 (201) was sent to create with a key longer than the contract allows and was not refused for it",
        expected: "400",
        actual: "201",
        key: "key",
        attempts: ["a1"],
      },
      expect.objectContaining({ message: expect.stringContaining("with an empty key"), attempts: ["a3"] }),
      expect.objectContaining({ message: expect.stringContaining("to refund with a key with characters") }),
    ],
  });
});

test("a refusal other than the documented one, and a crash, are violations", () => {
  expect(check(sent(answer(422))).result).toBe("fail");
  expect(check(sent(answer(500))).result).toBe("fail");
});

test("the documented refusal is right", () => {
  expect(check(sent(answer(400)))).toEqual({ result: "pass", checked: 1 });
});

test("an empty key may be refused as a missing one, another malformed key may not", () => {
  const key = { ...strict.key, missing: [{ status: 428 }], malformed: [{ status: 400 }] };
  expect(check(sent(answer(428), empty).contract({ key })).result).toBe("pass");
  expect(check(sent(answer(428), long).contract({ key })).result).toBe("fail");
  // That a request without a key executes does not mean that an empty key is none.
  const lenient = { ...strict.key, missing: "executes" as const };
  expect(check(sent(answer(201), empty).contract({ key: lenient })).result).toBe("fail");
});

test.each<[string, HistorySketch]>([
  ["an answer that was lost", sent(lost)],
  ["a rate limit", sent(answer(429))],
  ["a gateway's answer", sent(answer(502))],
  ["a request that is invalid anyway", sent(answer(422), { ...long, payload: { kind: "invalid" } })],
  ["an ordinary key", sent(answer(201), {})],
  ["no key at all", sent(answer(201), { key: null, malformed: "empty" })],
])("%s is not judged", (_, sketch) => {
  expect(check(sketch)).toMatchObject({ result: "skip", excused: false });
});

test("where the contract is silent it is skipped and excused", () => {
  const key = { ...strict.key, malformed: "undocumented" as const };
  expect(check(sent(answer(201)).contract({ key }))).toMatchObject({ result: "skip", excused: true });
});

test("agrees with a brute-force checker", () => {
  agreesWith(malformedKeyIsRejected, (history) => {
    if (history.contract.key.malformed === "undocumented") return "skip";
    let checked = 0;
    let violated = 0;
    for (const recorded of history.attempts) {
      const { malformed, key, payload } = recorded.attempt;
      const status = statusOf(recorded);
      if (malformed === null || key === null || status === 0) continue;
      if (status !== 400 && (payload.kind === "invalid" || status === 429 || status === 503)) continue;
      checked += 1;
      if (status !== 400) violated += 1;
    }
    return resultOf(violated, checked);
  });
});

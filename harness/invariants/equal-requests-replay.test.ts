import { expect, test } from "vitest";
import type { Outcome } from "../operation.ts";
import { agreesWith, oneKeyHistory } from "../testing/arbitrary-history.ts";
import { type AttemptSketch, answer, HistorySketch, lost } from "../testing/history-builder.ts";
import { conflicted, followers, resultOf, saidIn, statusOf, succeeded } from "../testing/naive.ts";
import { equalRequestsReplay } from "./equal-requests-replay.ts";

const check = (sketch: HistorySketch) => equalRequestsReplay.check(sketch.build());
const spaced: AttemptSketch = { payload: { kind: "spelling", name: "spaced" } };
const reordered: AttemptSketch = { payload: { kind: "spelling", name: "reordered" } };
const first = answer(201, { id: 1 });
const after = (outcome: Outcome, sketch = spaced) =>
  new HistorySketch().attempt({}, 10, 20, first).attempt(sketch, 30, 40, outcome);

test("a spelling that is refused is a violation that names it", () => {
  expect(check(after(answer(422)))).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message:
          'a2 (422) was the request of a1 (201) in the spelling "spaced" and was not answered as the same request',
        expected: "the answer of a1 (201)",
        actual: "422",
        key: "key",
        attempts: ["a1", "a2"],
      },
    ],
  });
  expect(check(after(answer(400))).result).toBe("fail");
  expect(check(after(answer(202))).result).toBe("fail");
});

test("a spelling that is answered with another success was executed anew", () => {
  expect(check(after(answer(201, { id: 2 })))).toMatchObject({
    result: "fail",
    violations: [{ expected: '{"id":1}', actual: '{"id":2}' }],
  });
});

test("the owner's answer is right, whatever its headers say", () => {
  expect(check(after(answer(201, { id: 1 }, { "idempotency-replayed": "true", location: "/2" })))).toEqual({
    result: "pass",
    checked: 1,
  });
});

test("the plain request after a spelling, and one spelling after another, are equal requests too", () => {
  const from = (one: AttemptSketch, two: AttemptSketch) =>
    new HistorySketch().attempt(one, 10, 20, first).attempt(two, 30, 40, answer(422));
  expect(check(from(spaced, {}))).toMatchObject({ violations: [{ attempts: ["a1", "a2"] }] });
  expect(check(from(spaced, reordered)).result).toBe("fail");
  // The same spelling twice is a plain retry, and shows nothing of spellings.
  expect(check(from(spaced, spaced)).result).toBe("skip");
  expect(check(from({}, {})).result).toBe("skip");
});

test.each<[string, HistorySketch]>([
  ["a server error", after(answer(500))],
  ["a rate limit", after(answer(429))],
  ["a conflict", after(answer(409))],
  ["a lost answer", after(lost)],
  ["a spelling of another operation", after(answer(422), { ...spaced, operation: "other" })],
  ["another payload", after(answer(422), { payload: { kind: "changed", field: "/amount" } })],
  ["another scope", after(answer(422), { ...spaced, caller: "bob" })],
  ["a spelling in flight with the owner", new HistorySketch().attempt({}, 10, 20).attempt(spaced, 15, 30, answer(422))],
  [
    "a spelling sent at the moment of the owner's answer",
    new HistorySketch().attempt({}, 10, 20).attempt(spaced, 20, 30, answer(422)),
  ],
  [
    "a spelling without an owner",
    new HistorySketch().attempt({}, 10, 20, answer(500)).attempt(spaced, 30, 40, answer(422)),
  ],
  ["a malformed key", after(answer(422), { ...spaced, malformed: "charset" })],
])("%s is not judged", (_, sketch) => {
  expect(check(sketch).result).toBe("skip");
});

test("after retention a spelling is a new request", () => {
  const sketch = (until: number) =>
    new HistorySketch().contract({ retentionMs: 100 }).attempt({}, 10, 20).attempt(spaced, 90, until, answer(422));
  expect(check(sketch(109)).result).toBe("fail");
  expect(check(sketch(110)).result).toBe("skip");
});

test("only a canonical fingerprint promises it; otherwise it is skipped and excused", () => {
  for (const fingerprint of ["raw", "none", "undocumented"] as const) {
    const reason = expect.stringContaining(fingerprint);
    expect(check(after(answer(422)).contract({ fingerprint }))).toMatchObject({
      result: "skip",
      excused: true,
      reason,
    });
  }
});

test("agrees with a brute-force checker", () => {
  agreesWith(
    equalRequestsReplay,
    (history) => {
      if (history.contract.fingerprint !== "canonical") return "skip";
      let checked = 0;
      let violated = 0;
      for (const { owner, later } of followers(history)) {
        const [one, two] = [owner.attempt, later.attempt];
        if (one.fingerprint !== two.fingerprint || one.payload.kind === two.payload.kind) continue;
        if ([0, 429, 503].includes(statusOf(later)) || conflicted(later)) continue;
        checked += 1;
        if (!succeeded(later) || saidIn(later) !== saidIn(owner)) violated += 1;
      }
      return resultOf(violated, checked);
    },
    4_000,
    oneKeyHistory,
  );
});

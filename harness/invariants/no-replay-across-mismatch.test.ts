import { expect, test } from "vitest";
import type { History } from "../history.ts";
import type { Outcome } from "../operation.ts";
import { agreesWith, oneKeyHistory } from "../testing/arbitrary-history.ts";
import { type AttemptSketch, answer, HistorySketch, lost } from "../testing/history-builder.ts";
import {
  bodyOf,
  conflicted,
  groupOf,
  inTime,
  mismatched,
  ownerOfAll,
  resultOf,
  statusOf,
  succeeded,
} from "../testing/naive.ts";
import { noReplayAcrossMismatch } from "./no-replay-across-mismatch.ts";

const check = (sketch: HistorySketch) => noReplayAcrossMismatch.check(sketch.build());
const other: AttemptSketch = { payload: { kind: "other" } };
/** The owner from 10 to 20, then another payload. */
const after = (outcome: Outcome, sketch = other) =>
  new HistorySketch().attempt({}, 10, 20).attempt(sketch, 30, 40, outcome);
const during = (outcome: Outcome, sketch = other) =>
  new HistorySketch().attempt({}, 10, 20).attempt(sketch, 15, 25, outcome);

test("two payloads that succeed under one key are a violation", () => {
  expect(check(after(answer(201, { id: 1 })))).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message: "a2 (201) had another payload under the key of a1 (201) and was a success",
        expected: "422",
        actual: '201 {"id":1}',
        key: "key",
        attempts: ["a1", "a2"],
      },
    ],
  });
  expect(check(during(answer(201))).result).toBe("fail");
  // A success that shows the other reference is a replay, and told as one.
  const replay = after(answer(201, { of: "op" }), { operation: "second" });
  expect(check(replay)).toMatchObject({ violations: [{ expected: "422", actual: '201 {"of":"op"}' }] });
});

test("an error that shows the reference of the other payload is a leak, in flight or not", () => {
  const secret = new HistorySketch()
    .attempt({ operation: "first" }, 10, 20)
    .attempt({ operation: "second" }, 15, 25, answer(503, { in: "progress: first" }));
  expect(check(secret)).toMatchObject({
    result: "fail",
    violations: [{ expected: "an error that shows nothing of the other payload", attempts: ["a1", "a2"] }],
  });
});

test("an error that repeats what its own request carried is no leak", () => {
  const told = answer(422, { error: "key-of-first is not for first" });
  const sketch = (own: AttemptSketch) =>
    new HistorySketch()
      .attempt({ operation: "first", key: "key-of-first" }, 10, 20)
      .attempt({ operation: "second", key: "key-of-first", ...own }, 30, 40, told);
  expect(check(sketch({})).result).toBe("pass");
  const plainKey = (own: AttemptSketch) =>
    new HistorySketch().attempt({ operation: "first" }, 10, 20).attempt(own, 30, 40, told);
  expect(check(plainKey({ operation: "second" })).result).toBe("fail");
  expect(check(plainKey({ operation: "second", body: '{"of":"first"}' })).result).toBe("pass");
  expect(check(plainKey({ operation: "first", ...other, body: "" })).result).toBe("pass");
});

test("a mismatch is right, and each one is counted", () => {
  expect(check(after(answer(422)).attempt(other, 50, 60, answer(422)))).toEqual({ result: "pass", checked: 2 });
  expect(check(during(answer(422)))).toEqual({ result: "pass", checked: 1 });
});

test("while the owner is in flight a conflict, or what the contract names, is right too", () => {
  expect(check(during(answer(409)))).toEqual({ result: "pass", checked: 1 });
  expect(check(during(answer(423)).contract({ mismatchInFlight: [{ status: 423 }] })).result).toBe("pass");
});

test("any other refusal is a violation, and says what was expected", () => {
  expect(check(after(answer(404)))).toMatchObject({ violations: [{ expected: "422", actual: "404 {}" }] });
  expect(check(after(answer(202))).result).toBe("fail");
  expect(check(during(answer(404)))).toMatchObject({ violations: [{ expected: "422 or 409" }] });
});

test("in flight nothing but a success is judged where the contract is silent on it", () => {
  const silent = (outcome: Outcome) => during(outcome).contract({ mismatchInFlight: "undocumented" });
  expect(check(silent(answer(404))).result).toBe("skip");
  expect(check(silent(answer(422))).result).toBe("pass");
  expect(check(silent(answer(201))).result).toBe("fail");
});

test.each<[string, Outcome, AttemptSketch]>([
  ["a conflict after the owner", answer(409), other],
  ["a server error", answer(500), other],
  ["a rate limit", answer(429), other],
  ["an invalid request", answer(400), { payload: { kind: "invalid" } }],
  ["a lost answer", lost, other],
  ["a refused connection", { kind: "refused", reason: "ECONNREFUSED" }, other],
  ["the same payload in another spelling", answer(404), { payload: { kind: "spelling", name: "spaced" } }],
])("%s is not judged", (_, outcome, sketch) => {
  expect(check(after(outcome, sketch)).result).toBe("skip");
});

test("an attempt that ended before the owner was sent is judged by nothing it could not know", () => {
  const before = (outcome: Outcome) => new HistorySketch().attempt(other, 0, 5, outcome).attempt({}, 10, 20);
  for (const status of [402, 404, 409, 422]) expect(check(before(answer(status))).result).toBe("skip");
});

test("after retention another payload is a new request", () => {
  const sketch = (until: number) =>
    new HistorySketch().contract({ retentionMs: 100 }).attempt({}, 10, 20).attempt(other, 90, until);
  expect(check(sketch(109)).result).toBe("fail");
  expect(check(sketch(110)).result).toBe("skip");
});

test("a malformed key joins nothing, and another scope is another key", () => {
  const malformed = { key: "", malformed: "empty" } as const;
  expect(check(new HistorySketch().attempt(malformed, 0, 5).attempt({ ...malformed, ...other }, 10, 15)).result).toBe(
    "skip",
  );
  expect(check(after(answer(201), { ...other, caller: "bob" })).result).toBe("skip");
});

test("a mismatch told with the status of a success is a mismatch", () => {
  const mismatch = [{ status: 201, pointer: "/code", value: "mismatch" }];
  expect(check(after(answer(201, { code: "mismatch" })).contract({ mismatch })).result).toBe("pass");
  expect(check(after(answer(201, { code: "fine" })).contract({ mismatch }))).toMatchObject({
    violations: [{ expected: '201 with /code "mismatch"' }],
  });
});

test("without a fingerprint, or a documented mismatch, it is skipped and excused", () => {
  expect(check(after(answer(201)).contract({ fingerprint: "none" }))).toMatchObject({ result: "skip", excused: true });
  expect(check(after(answer(201)).contract({ mismatch: "undocumented" }))).toMatchObject({
    reason: "the contract leaves the answer to a mismatch undocumented",
    excused: true,
  });
  expect(check(new HistorySketch().attempt({}, 0, 5))).toMatchObject({ result: "skip", excused: false });
});

test("agrees with a brute-force checker", () => {
  agreesWith(noReplayAcrossMismatch, bruteForce);
  agreesWith(noReplayAcrossMismatch, bruteForce, 2_000, oneKeyHistory);
});

function bruteForce(history: History): string {
  if (history.contract.fingerprint === "none" || history.contract.mismatch === "undocumented") return "skip";
  let checked = 0;
  let violated = 0;
  for (const x of history.attempts) {
    const group = groupOf(history, x);
    const [first] = group;
    const owner = ownerOfAll(history, group);
    if (first === undefined || owner === null || statusOf(x) === 0 || !inTime(history, first, x)) continue;
    if (x.attempt.fingerprint === owner.attempt.fingerprint) continue;
    const { reference } = owner.attempt;
    const isOwn = x.attempt.reference === reference || x.attempt.request.body.includes(reference);
    const isVague = [400, 429, 503].includes(statusOf(x));
    checked += 1;
    if (succeeded(x)) violated += 1;
    else if (bodyOf(x).includes(reference) && !isOwn) violated += 1;
    else if (x.completedAt <= owner.invokedAt) checked -= 1;
    else if (mismatched(history, x)) continue;
    else if (x.invokedAt > owner.completedAt) {
      if (conflicted(x) || isVague) checked -= 1;
      else violated += 1;
    } else if (conflicted(x)) continue;
    else if (isVague || history.contract.mismatchInFlight === "undocumented") checked -= 1;
    else violated += 1;
  }
  return resultOf(violated, checked);
}

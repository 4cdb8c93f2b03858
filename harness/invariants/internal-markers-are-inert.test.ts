import { expect, test } from "vitest";
import { strict } from "../contracts/strict.ts";
import type { Outcome } from "../operation.ts";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { type AttemptSketch, answer, HistorySketch, lost } from "../testing/history-builder.ts";
import { groupOf, hasKeyToItself, marked, resultOf, statusOf, succeeded } from "../testing/naive.ts";
import { internalMarkersAreInert } from "./internal-markers-are-inert.ts";

const check = (sketch: HistorySketch) => internalMarkersAreInert.check(sketch.build());
const forged: AttemptSketch = { forged: true };
const replayed = { "idempotency-replayed": "TRUE" };
const sent = (outcome: Outcome, sketch = forged) => new HistorySketch().attempt(sketch, 10, 20, outcome);

test("a first request that is refused for its internal headers is a violation that names them", () => {
  expect(check(sent(answer(422)))).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message: "a1 (422) was the first attempt with its key, carried idempotency-replayed, and was no success",
        expected: "a success that is not marked as a replay",
        actual: "422",
        key: "key",
        attempts: ["a1"],
      },
    ],
  });
});

test("a first request that is answered as a replay is a violation", () => {
  expect(check(sent(answer(201, {}, replayed)))).toMatchObject({
    result: "fail",
    violations: [{ actual: "idempotency-replayed: true" }],
  });
});

test("a success of its own is right, and so are marked replays later on", () => {
  const sketch = sent(answer(201)).attempt(forged, 30, 40, answer(201, {}, replayed));
  expect(check(sketch)).toEqual({ result: "pass", checked: 1 });
  expect(check(sent(answer(201, {}, { "idempotency-replayed": "false" }))).result).toBe("pass");
});

test("without a marker in the contract a success is all that can be asked", () => {
  const replay = { ...strict.replay, marker: null };
  expect(check(sent(answer(201, {}, replayed)).contract({ replay })).result).toBe("pass");
});

test.each<[string, HistorySketch]>([
  ["a request without such headers", sent(answer(422), {})],
  ["an invalid request", sent(answer(400), { ...forged, payload: { kind: "invalid" } })],
  ["a malformed key", sent(answer(400), { ...forged, malformed: "charset" })],
  ["a request without a key", sent(answer(400), { ...forged, key: null })],
  ["a server error", sent(answer(500))],
  ["a rate limit", sent(answer(429))],
  ["a lost answer", sent(lost)],
  ["a retry", new HistorySketch().attempt({}, 0, 5).attempt(forged, 10, 20, answer(422))],
  ["an attempt in flight with another", sent(answer(409)).attempt({}, 15, 25)],
  ["an attempt before whose answer another was sent", sent(answer(409)).attempt({}, 20, 25)],
  ["a key that another caller uses too", sent(answer(422)).attempt({ caller: "bob" }, 30, 40)],
])("%s is not judged", (_, sketch) => {
  expect(check(sketch)).toMatchObject({ result: "skip", excused: false });
});

test("where the contract names no internal headers it is skipped and excused", () => {
  expect(check(sent(answer(422)).contract({ internalHeaders: [] }))).toEqual({
    result: "skip",
    reason: "the contract leaves internal headers undocumented",
    excused: true,
  });
});

test("agrees with a brute-force checker", () => {
  agreesWith(
    internalMarkersAreInert,
    (history) => {
      let checked = 0;
      let violated = 0;
      for (const one of history.attempts) {
        const group = groupOf(history, one);
        if (!one.attempt.forged || one.attempt.payload.kind === "invalid" || !hasKeyToItself(history, one)) continue;
        if (group.some(({ attempt }) => attempt.malformed !== null)) continue;
        if (group.some((other) => other !== one && other.invokedAt <= one.completedAt)) continue;
        if ([0, 429, 503].includes(statusOf(one))) continue;
        checked += 1;
        if (!succeeded(one) || marked(one)) violated += 1;
      }
      return resultOf(violated, checked);
    },
    4_000,
  );
});

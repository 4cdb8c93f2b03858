import fc from "fast-check";
import { expect, test } from "vitest";
import { agreesWith, historiesWith, variedContract } from "../testing/arbitrary-history.ts";
import { answer, HistorySketch } from "../testing/history-builder.ts";
import {
  headerOf,
  resultOf,
  sameRequest,
  sameText,
  statusOf,
  toldOtherPayload,
  toldToWait,
} from "../testing/naive-answers.ts";
import { conflictInvitesRetry } from "./conflict-invites-retry.ts";

const optional = { answers: [{ status: 409 }], retryAfter: "optional" } as const;

function check(retryAfter: string | undefined, sketch = new HistorySketch()) {
  const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter };
  return conflictInvitesRetry.check(sketch.attempt({}, 0, 20, answer(409, {}, headers)).build());
}

test("a conflict without the promised Retry-After is a violation", () => {
  expect(check(undefined)).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message: "a1 (409) was told to wait, and not for how long",
        expected: "a Retry-After header",
        actual: "no Retry-After",
        key: "key",
        attempts: ["a1"],
      },
    ],
  });
});

test.each([
  "soon",
  "",
  "1.5",
  "-1",
  "1, 1",
  "+1",
  "Sun, 06 Nov 1994",
  "Sun, 32 Nov 1994 08:49:37 GMT",
  "2026-12-01T00:00:00Z",
])("Retry-After: %j is neither seconds nor an HTTP date", (value) => {
  expect(check(value).result).toBe("fail");
});

test.each([
  "0",
  "1",
  "061",
  "Sun, 06 Nov 1994 08:49:37 GMT",
  "Sunday, 06-Nov-94 08:49:37 GMT",
  "Sun Nov  6 08:49:37 1994",
])("Retry-After: %j is right", (value) => {
  expect(check(value)).toEqual({ result: "pass", checked: 1 });
});

test("a wait beyond the lease is not honest, one rounded up is", () => {
  const short = () => new HistorySketch().contract({ leaseMs: 1_500 });
  expect(check("3", short()).result).toBe("pass");
  expect(check("4", short())).toMatchObject({
    violations: [{ expected: "Retry-After of at most 3 seconds, since a lease is 1500 ms", actual: "Retry-After: 4" }],
  });
  expect(check("900", new HistorySketch().contract({ leaseMs: "undocumented" })).result).toBe("pass");
});

test("where Retry-After is optional only one that is there is judged", () => {
  const sketch = () => new HistorySketch().contract({ inFlight: { ...optional, answers: [{ status: 409 }] } });
  expect(check(undefined, sketch())).toEqual({ result: "pass", checked: 1 });
  expect(check("soon", sketch()).result).toBe("fail");
});

test("nobody is invited to retry with another payload", () => {
  const other = { operation: "other", payload: { kind: "other" } } as const;
  const sketch = new HistorySketch().attempt({}, 0, 20).attempt(other, 10, 15, answer(409)).build();
  expect(conflictInvitesRetry.check(sketch).result).toBe("skip");
});

test("a conflict that has nothing to do with a key is not judged", () => {
  const sketch = new HistorySketch().attempt({ key: null }, 0, 20, answer(409)).build();
  expect(conflictInvitesRetry.check(sketch)).toMatchObject({ result: "skip", excused: false });
});

test("a silent contract and one that holds duplicates back are excused", () => {
  for (const answers of ["undocumented", []] as const) {
    const sketch = new HistorySketch().contract({
      inFlight: { answers: answers === "undocumented" ? answers : [], retryAfter: "required" },
    });
    expect(check(undefined, sketch)).toMatchObject({ result: "skip", excused: true });
  }
});

test("agrees with a brute-force checker", () => {
  const outcome = fc
    .record({
      status: fc.constantFrom(409, 409, 201, 422),
      value: fc.constantFrom(undefined, "1", "2", "3", "90", "soon"),
    })
    .map(({ status, value }) => answer(status, {}, value === undefined ? {} : { "retry-after": value }));
  agreesWith(
    conflictInvitesRetry,
    (history) => {
      const { contract, attempts } = history;
      let checked = 0;
      let violated = 0;
      for (const one of attempts) {
        if (!toldToWait(contract, one) || one.attempt.key === null || one.attempt.malformed !== null) continue;
        if (one.attempt.payload.kind === "invalid" && statusOf(one) === 400) continue;
        const isAlone = attempts
          .filter((other) => sameText(contract, one, other))
          .every(
            (other) =>
              sameRequest(contract, one, other) &&
              other.attempt.caller === one.attempt.caller &&
              other.attempt.endpoint === one.attempt.endpoint &&
              other.attempt.query === one.attempt.query,
          );
        const { mismatchInFlight } = contract;
        const mayBeOther =
          toldOtherPayload(contract, one) ||
          mismatchInFlight === "undocumented" ||
          mismatchInFlight.some(({ status }) => status === statusOf(one));
        if (!isAlone && mayBeOther) continue;
        checked += 1;
        const value = headerOf(one, "retry-after");
        const longest = contract.leaseMs === "undocumented" ? Infinity : Math.ceil(contract.leaseMs / 1000) + 1;
        if (value === undefined ? contract.inFlight.retryAfter === "required" : !(Number(value) <= longest))
          violated += 1;
      }
      return resultOf(checked, violated);
    },
    4_000,
    historiesWith({ contract: variedContract, outcome }),
  );
});

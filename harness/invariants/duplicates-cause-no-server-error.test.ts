import fc from "fast-check";
import { expect, test } from "vitest";
import type { Contract } from "../contract.ts";
import type { History, Recorded } from "../history.ts";
import type { Outcome } from "../operation.ts";
import { agreesWith, historiesWith, onOneKey, variedContract } from "../testing/arbitrary-history.ts";
import { type AttemptSketch, answer, type FaultSketch, HistorySketch, lost } from "../testing/history-builder.ts";
import {
  maybeSameKey,
  resultOf,
  statusOf,
  toldOtherPayload,
  toldToWait,
  underFault,
} from "../testing/naive-answers.ts";
import { duplicatesCauseNoServerError } from "./duplicates-cause-no-server-error.ts";

const check = (sketch: HistorySketch) => duplicatesCauseNoServerError.check(sketch.build());
const hung = { kind: "indeterminate", reason: "timeout" } as const;

test("server errors and hangs of one key are one violation with a few witnesses", () => {
  const sketch = new HistorySketch().attempt({}, 0, 20).attempt({}, 1, 21, hung);
  for (let copy = 0; copy < 6; copy += 1) sketch.attempt({}, 2, 22, answer(500));
  expect(check(sketch)).toEqual({
    result: "fail",
    checked: 8,
    violations: [
      {
        message:
          "7 attempt(s) of key key failed in the target: a2 (no answer: timeout), a3 (500), a4 (500), a5 (500), a6 (500) and 2 more",
        expected: "an answer below 500",
        actual: "6 server error(s), 1 hung",
        key: "key",
        attempts: ["a2", "a3", "a4", "a5", "a6"],
      },
    ],
  });
});

test("distinct keys, and operations without a key, are a violation each", () => {
  const sketch = new HistorySketch()
    .attempt({ operation: "one", key: "one" }, 0, 20, answer(500))
    .attempt({ operation: "two", key: null }, 0, 20, answer(500))
    .attempt({ operation: "two", key: null }, 0, 20, hung)
    .attempt({ operation: "three", key: null }, 0, 20, answer(503));
  expect(check(sketch)).toMatchObject({
    violations: [{ attempts: ["a1"] }, { attempts: ["a2", "a3"], key: null }, { attempts: ["a4"] }],
  });
});

test("any answer below 500 is right", () => {
  const sketch = new HistorySketch();
  for (const status of [201, 400, 404, 409, 422, 429]) sketch.attempt({}, 0, 20, answer(status));
  expect(check(sketch)).toEqual({ result: "pass", checked: 6 });
});

test("a failure that was asked for is not judged, nor what the error policy makes of it", () => {
  const sketch = new HistorySketch()
    .attempt({ condition: "fails" }, 0, 20, answer(503))
    .attempt({}, 30, 40, answer(503));
  expect(check(sketch)).toMatchObject({ result: "skip", excused: false });
  expect(check(sketch.attempt({}, 50, 60, hung)).result).toBe("fail");
});

test("what a fault touches is not judged, until two seconds after it was healed", () => {
  const sketch = (from: number) =>
    check(new HistorySketch().paused(0, 100, 200).attempt({}, from, from + 50, answer(503))).result;
  expect(sketch(20)).toBe("fail");
  expect(sketch(50)).toBe("skip");
  expect(sketch(2_200)).toBe("skip");
  expect(sketch(2_201)).toBe("fail");
  expect(check(new HistorySketch().paused(0, 100, null).attempt({}, 9_000, 9_050, hung)).result).toBe("skip");
});

test("a client that hangs up, and a connection that breaks, is no hang of the target", () => {
  for (const reason of ["aborted", "reset", "closed", "truncated"] as const) {
    expect(check(new HistorySketch().attempt({}, 0, 20, { kind: "indeterminate", reason })).result).toBe("skip");
  }
  expect(check(new HistorySketch().attempt({}, 0, null)).result).toBe("skip");
});

test("a 5xx that the contract promises to duplicates is right", () => {
  const inFlight = { answers: [{ status: 503 }], retryAfter: "optional" as const };
  const sketch = new HistorySketch().contract({ inFlight }).attempt({}, 0, 20).attempt({}, 1, 21, answer(503));
  expect(check(sketch)).toEqual({ result: "pass", checked: 2 });
});

test("a fault excuses no more than it can reach", () => {
  const failing = (fault: string, place: FaultSketch, attempt: AttemptSketch) =>
    check(
      new HistorySketch()
        .fault(fault, place, 10, 100)
        .attempt({ operation: "struck", key: "struck" }, 0, 50, lost)
        .attempt(attempt, 20, 40, answer(500)),
    ).result;
  const ofOperation = { operation: "struck", phase: "claimed", replica: 0 };
  for (const fault of ["delay", "throw", "hang", "processor"]) {
    expect(failing(fault, ofOperation, {}), fault).toBe("fail");
    expect(failing(fault, ofOperation, { operation: "struck", key: "struck", replica: 1 }), fault).toBe("skip");
  }
  for (const fault of ["pause-replica", "kill-replica", "link-down", "latency"]) {
    expect(failing(fault, { replica: 0 }, { replica: 1 }), fault).toBe("fail");
    expect(failing(fault, { replica: 0 }, {}), fault).toBe("skip");
    // Its holder was there, and may have left locks behind.
    expect(failing(fault, { replica: 0 }, { operation: "struck", key: "struck", replica: 1 }), fault).toBe("skip");
  }
  expect(failing("database", {}, { replica: 1 })).toBe("skip");
});

test("a control, and a fault that is armed and did not strike, excuse nothing", () => {
  const control = new HistorySketch().fault("latency", { replica: 0, isControl: true }, 0, 100);
  expect(check(control.attempt({}, 20, 40, answer(500))).result).toBe("fail");
});

const stores: Contract["stored"] = {
  validation: "undocumented",
  failedBeforeEffect: ["stored"],
  declined: "undocumented",
};
const underFaultAndAfter = (first: Outcome, later: Outcome) =>
  new HistorySketch().fault("write-refused", {}, 0, 30).attempt({}, 10, 20, first).attempt({}, 5_000, 5_010, later);

test("an error that a fault brought on may be stored where the contract says so, and is then answered to the letter", () => {
  const again = underFaultAndAfter(answer(503), answer(503));
  expect(check(again.contract({ stored: stores })).result).toBe("skip");
  expect(check(again.contract({ stored: { ...stores, failedBeforeEffect: "undocumented" } })).result).toBe("skip");
  expect(check(again.contract({ stored: { ...stores, failedBeforeEffect: ["released"] } })).result).toBe("fail");
  expect(check(underFaultAndAfter(answer(503), answer(500)).contract({ stored: stores })).result).toBe("fail");
  const ofAnother = underFaultAndAfter(answer(503), answer(503)).contract({ stored: stores });
  expect(check(ofAnother.attempt({ operation: "two", key: "two" }, 5_000, 5_010, answer(503))).result).toBe("fail");
});

function isSameIdentity({ contract }: History, one: Recorded, other: Recorded): boolean {
  return other.attempt.key === null
    ? one.attempt.key === null && other.attempt.operation === one.attempt.operation
    : maybeSameKey(contract, one, other);
}

function isStored(history: History, one: Recorded): boolean {
  const { contract, attempts } = history;
  const { failedBeforeEffect: policy } = contract.stored;
  if (policy !== "undocumented" && !policy.includes("stored")) return false;
  if (statusOf(one) < 500 || toldToWait(contract, one) || toldOtherPayload(contract, one)) return false;
  return attempts
    .slice(0, attempts.indexOf(one))
    .some(
      (other) =>
        isSameIdentity(history, one, other) &&
        underFault(history, other) &&
        bodyOf(other) === bodyOf(one) &&
        statusOf(other) === statusOf(one),
    );
}

function bodyOf({ outcome }: Recorded): string | null {
  return outcome.kind === "responded" ? outcome.body.text : null;
}

test("agrees with a brute-force checker", () => {
  const outcome = fc.constantFrom(...[201, 409, 422, 503, 500].map((status) => answer(status)), lost, hung);
  const from = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1_990, max: 2_060 }));
  agreesWith(
    duplicatesCauseNoServerError,
    (history) => {
      const { contract, attempts } = history;
      let checked = 0;
      let violated = 0;
      for (const one of attempts) {
        if (one.attempt.condition === "fails" || underFault(history, one)) continue;
        if (isStored(history, one)) continue;
        const isPromised = toldToWait(contract, one) || toldOtherPayload(contract, one);
        const isError = statusOf(one) >= 500 && !isPromised;
        const isHung = one.outcome.kind === "indeterminate" && one.outcome.reason === "timeout";
        const wasAskedFor = attempts.some(
          (other) => other.attempt.condition === "fails" && isSameIdentity(history, one, other),
        );
        if (isError && wasAskedFor) continue;
        if (statusOf(one) > 0 || isHung) checked += 1;
        if (isError || isHung) violated += 1;
      }
      return resultOf(checked, violated);
    },
    3_000,
    fc.oneof(
      historiesWith({ contract: variedContract, outcome, from }),
      historiesWith({ contract: variedContract, sketch: onOneKey.sketch, from }),
    ),
  );
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { historyOf } from "../reading/history-builder.ts";
import { agreesWith, historiesWith, variedContract } from "../testing/arbitrary-history.ts";
import { answer, HistorySketch, lost, SCENARIO } from "../testing/history-builder.ts";
import { certainKeys, resultOf, statusOf, succeeded, turnedAway, underFault } from "../testing/naive-answers.ts";
import { unrelatedKeysAreUnaffected } from "./unrelated-keys-are-unaffected.ts";

const check = (sketch: HistorySketch) => unrelatedKeysAreUnaffected.check(sketch.build());
const hung = { kind: "indeterminate", reason: "timeout" } as const;
const elsewhere = { replica: 1 };
const paused = () => new HistorySketch().paused(0, 100, 200);

test("a control request that does not succeed during a pause is a violation", () => {
  expect(check(paused().attempt(elsewhere, 150, 160, answer(503)))).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message: "a1 (503) had a key of its own on replica 1, a fault was at work elsewhere, and it did not succeed",
        expected: "a success, as without the fault",
        actual: "503",
        key: "key",
        attempts: ["a1"],
      },
    ],
  });
});

test("a control request that is left hanging, or told to wait, is a violation", () => {
  expect(check(paused().attempt(elsewhere, 150, 10_150, hung)).result).toBe("fail");
  expect(check(paused().attempt(elsewhere, 150, 160, answer(409))).result).toBe("fail");
});

test("a pause of its own replica at another time is no excuse", () => {
  expect(check(paused().paused(1, 9_000, 9_100).attempt(elsewhere, 150, 160, answer(503))).result).toBe("fail");
});

test("a control request that succeeds is right, also when it ends after the pause", () => {
  expect(check(paused().attempt(elsewhere, 199, 260))).toEqual({ result: "pass", checked: 1 });
});

test("the paused replica itself, other times, and keys used twice are not the control group", () => {
  const bad = answer(503);
  expect(check(paused().attempt({ replica: 0 }, 150, 250, bad)).result).toBe("skip");
  expect(
    check(
      paused()
        .attempt(elsewhere, 50, 120, bad)
        .attempt({ ...elsewhere, key: "b" }, 201, 210, bad),
    ).result,
  ).toBe("skip");
  expect(check(paused().attempt(elsewhere, 150, 160, bad).attempt(elsewhere, 170, 180, bad)).result).toBe("skip");
});

test("what has another reason than the pause is not judged", () => {
  expect(check(paused().attempt(elsewhere, 150, 160, lost)).result).toBe("skip");
  expect(check(paused().attempt(elsewhere, 150, 160, answer(429))).result).toBe("skip");
  expect(check(paused().attempt({ ...elsewhere, condition: "fails" }, 150, 160, answer(503))).result).toBe("skip");
  expect(check(paused().attempt({ ...elsewhere, payload: { kind: "invalid" } }, 150, 160, answer(400))).result).toBe(
    "skip",
  );
  expect(check(paused().attempt({ ...elsewhere, malformed: "empty" }, 150, 160, answer(400))).result).toBe("skip");
  expect(check(paused().paused(1, 155, 158).attempt(elsewhere, 150, 160, answer(503))).result).toBe("skip");
});

test("a fault of another kind may be felt everywhere", () => {
  const sketch = paused().attempt(elsewhere, 150, 160, answer(503));
  const fault = { type: "fault", scenario: SCENARIO, fault: "freeze-database", replica: -1 } as const;
  const events = sketch.events().toSpliced(2, 0, { ...fault, at: 140_000, state: "injected" });
  const [history] = historyOf(events).scenarios;
  expect(history && unrelatedKeysAreUnaffected.check(history).result).toBe("skip");
});

test("a fault of one operation, a kill and a cut link leave others alone too", () => {
  for (const fault of ["hang", "throw", "delay", "processor"]) {
    const struck = () => new HistorySketch().fault(fault, { replica: 0, operation: "struck" }, 100, 200);
    expect(check(struck().attempt({}, 150, 160, answer(503))).result, fault).toBe("fail");
    expect(check(struck().attempt({}, 150, 160)).result, fault).toBe("pass");
    expect(check(struck().attempt({ operation: "struck" }, 150, 160, answer(503))).result, fault).toBe("skip");
  }
  for (const fault of ["kill-replica", "link-down", "latency"]) {
    const struck = () => new HistorySketch().fault(fault, { replica: 0 }, 100, 200);
    expect(check(struck().attempt(elsewhere, 150, 160, answer(503))).result, fault).toBe("fail");
    expect(check(struck().attempt({}, 150, 160, answer(503))).result, fault).toBe("skip");
  }
});

test("without a fault there is no control group", () => {
  expect(check(new HistorySketch().attempt({}, 0, 20))).toEqual({
    result: "skip",
    reason: "no fault was at work",
    excused: false,
  });
});

test("agrees with a brute-force checker", () => {
  const histories = historiesWith({
    contract: variedContract,
    sketch: fc.record({
      key: fc.constantFrom("a", "b", "c", "d", "A"),
      malformed: fc.constantFrom(null, null, null, null, "empty" as const),
    }),
    outcome: fc.constantFrom(...[201, 201, 201, 201, 201, 409, 503, 403].map((status) => answer(status)), lost, hung),
  });
  agreesWith(
    unrelatedKeysAreUnaffected,
    (history) => {
      const { contract, faults } = history;
      let checked = 0;
      let violated = 0;
      for (const [one, another] of certainKeys(history)) {
        if (one === undefined || another !== undefined) continue;
        const { payload, condition } = one.attempt;
        if (payload.kind === "invalid" || condition === "fails") continue;
        const isInside = faults.some(({ from, until }) => from <= one.invokedAt && one.invokedAt <= until);
        if (!isInside || underFault(history, one) || turnedAway(contract, one)) continue;
        const isHung = one.outcome.kind === "indeterminate" && one.outcome.reason === "timeout";
        if (statusOf(one) === 0 && !isHung) continue;
        checked += 1;
        if (!succeeded(one)) violated += 1;
      }
      return resultOf(checked, violated);
    },
    4_000,
    histories,
  );
});

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Contract } from "../contract.ts";
import type { Recorded } from "../history.ts";
import { agreesWith, historiesWith, variedContract } from "../testing/arbitrary-history.ts";
import { answer, HistorySketch, lost } from "../testing/history-builder.ts";
import {
  certainKeys,
  meet,
  remembered,
  resultOf,
  sameBytes,
  sameRequest,
  statusOf,
  succeeded,
  toldOtherPayload,
  toldToWait,
  turnedAway,
  underFault,
} from "../testing/naive-answers.ts";
import { errorPolicyIsKept } from "./error-policy-is-kept.ts";

const check = (sketch: HistorySketch) => errorPolicyIsKept.check(sketch.build());
const invalid = { payload: { kind: "invalid" } } as const;
const failing = { condition: "fails" } as const;
const refused = answer(400, { code: "invalid" });
const keeps = (validation: Contract["stored"]["validation"], failedBeforeEffect: Contract["stored"]["validation"]) =>
  new HistorySketch().contract({ stored: { validation, failedBeforeEffect, declined: "undocumented" } });

test("a stored validation error that a retry does not get is a violation", () => {
  const sketch = keeps(["stored"], "undocumented").attempt(invalid, 0, 20, refused);
  expect(check(sketch.attempt(invalid, 30, 40, answer(400, { code: "other" })))).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message: "after a1 (400) the key was used again, and a2 (400) is not what the contract promises",
        expected: "the stored 400 again, and no success for a corrected request",
        actual: 'a2 (400) with another body at /code: {"code":"other"}',
        key: "key",
        attempts: ["a1", "a2"],
      },
    ],
  });
});

test("a stored validation error keeps its key from a corrected request", () => {
  const sketch = () =>
    keeps(["stored"], "undocumented").attempt(invalid, 0, 20, refused).attempt(invalid, 30, 40, refused);
  expect(check(sketch().attempt({}, 50, 60, answer(422)))).toEqual({ result: "pass", checked: 2 });
  expect(check(sketch().attempt({}, 50, 60)).result).toBe("fail");
});

test("a released validation error frees its key for a corrected request", () => {
  const sketch = () => keeps(["released"], "undocumented").attempt(invalid, 0, 20, refused);
  expect(check(sketch().attempt(invalid, 25, 28, answer(400)).attempt({}, 30, 40))).toEqual({
    result: "pass",
    checked: 1,
  });
  expect(check(sketch().attempt({}, 30, 40, answer(422)))).toMatchObject({
    result: "fail",
    violations: [{ expected: "a success, since a validation error releases its key" }],
  });
});

test("an invalid request under a used key is refused for the key, which is no validation error", () => {
  for (const validation of [["stored"], ["released"]] as const) {
    const sketch = keeps([...validation], "undocumented")
      .attempt({}, 0, 20)
      .attempt(invalid, 30, 40, refused);
    expect(check(sketch.attempt({}, 50, 60)).result).toBe("skip");
  }
});

test("a corrected request is not judged while another request may have the key", () => {
  const sketch = () => keeps(["released"], "undocumented").attempt(invalid, 0, 20, refused);
  const other = { operation: "other", payload: { kind: "other" } } as const;
  expect(check(sketch().attempt(other, 22, 25).attempt({}, 30, 40, answer(422))).result).toBe("skip");
  expect(check(sketch().attempt(invalid, 25, 35, refused).attempt({}, 30, 40, answer(409))).result).toBe("skip");
  expect(check(sketch().attempt(invalid, 25, 35, refused).attempt({}, 30, 40, answer(422))).result).toBe("skip");
  expect(check(sketch().attempt(other, 41, 45, answer(422)).attempt({}, 30, 40, answer(422))).result).toBe("fail");
});

test("a released failure that a retry gets again is a violation", () => {
  const sketch = () => keeps("undocumented", ["released"]).attempt(failing, 0, 20, answer(503));
  expect(check(sketch().attempt({}, 30, 40, answer(503)))).toMatchObject({
    result: "fail",
    violations: [
      { attempts: ["a1", "a2"], expected: "no server error, since a failure before any effect releases its key" },
    ],
  });
  expect(check(sketch().attempt(failing, 21, 25, answer(503)).attempt({}, 30, 40))).toEqual({
    result: "pass",
    checked: 1,
  });
});

test("after a released failure a conflict, a fault and the company of another failing request are not judged", () => {
  const sketch = () => keeps("undocumented", ["released"]).attempt(failing, 0, 20, answer(503));
  expect(check(sketch().attempt({}, 30, 40, answer(409))).result).toBe("skip");
  expect(check(sketch().attempt(failing, 25, 35, answer(503)).attempt({}, 30, 40, answer(503))).result).toBe("skip");
  expect(check(sketch().attempt(failing, 25, 28, lost).attempt({}, 30, 40, answer(503))).result).toBe("skip");
  expect(check(sketch().paused(0, 30, 50).attempt({}, 60, 70, answer(503))).result).toBe("skip");
  expect(check(sketch().attempt({}, 30, 40, lost)).result).toBe("skip");
});

test("a stored failure that a retry does not get is a violation", () => {
  const sketch = () => keeps("undocumented", ["stored"]).attempt(failing, 0, 20, answer(503, { id: 1 }));
  expect(check(sketch().attempt({}, 30, 40, answer(503, { id: 1 })))).toEqual({ result: "pass", checked: 1 });
  expect(check(sketch().attempt({}, 30, 40)).result).toBe("fail");
  expect(check(sketch().attempt({}, 30, 40, answer(503, { id: 2 }))).result).toBe("fail");
});

test("a failure is stored only if the key was its own", () => {
  const beside = keeps("undocumented", ["stored"]).attempt(failing, 0, 20, answer(503)).attempt({}, 10, 15);
  expect(check(beside.attempt({}, 30, 40)).result).toBe("skip");
});

test("after retention nothing is stored", () => {
  const sketch = keeps(["stored"], ["stored"]).contract({ retentionMs: 100 }).attempt(invalid, 0, 20, refused);
  expect(check(sketch.attempt({}, 150, 160)).result).toBe("skip");
});

test("a contract that is silent or allows both is excused, and only that", () => {
  const tried = (sketch: HistorySketch) => check(sketch.attempt(invalid, 0, 20, refused).attempt(invalid, 30, 40));
  expect(tried(keeps("undocumented", "undocumented"))).toMatchObject({ result: "skip", excused: true });
  expect(tried(keeps(["stored", "released"], ["released"]))).toMatchObject({ result: "skip", excused: true });
  const both = ["stored", "released"] as const;
  const failed = (sketch: HistorySketch) => check(sketch.attempt(failing, 0, 20, answer(503)).attempt({}, 30, 40));
  expect(failed(keeps(["stored"], [...both]))).toMatchObject({ result: "skip", excused: true });
  expect(check(keeps([...both], ["released"]).attempt(failing, 0, 20, answer(503)))).toMatchObject({ excused: false });
  expect(check(keeps(["stored"], [...both]).attempt(invalid, 0, 20, refused))).toMatchObject({ excused: false });
  expect(check(keeps([...both], [...both]).attempt({}, 0, 20))).toMatchObject({ result: "skip", excused: false });
});

const declined = answer(402, { status: "declined" });
const declining = (changes: Partial<Contract> = {}) =>
  new HistorySketch()
    .contract(changes)
    .attempt({ endpoint: "charge" }, 0, 20, declined)
    .books([])
    .account([{ result: "declined" }]);

test("a decline that a retry turns into another answer is a violation", () => {
  expect(check(declining().attempt({ endpoint: "charge" }, 30, 40))).toMatchObject({
    result: "fail",
    violations: [
      {
        attempts: ["a1", "a2"],
        expected: "the stored 402 again, since the processor declined for good",
        actual: "a2 (201)",
      },
    ],
  });
  expect(check(declining().attempt({ endpoint: "charge" }, 30, 40, answer(402, { status: "other" }))).result).toBe(
    "fail",
  );
  expect(check(declining().attempt({ endpoint: "charge" }, 30, 40, declined))).toEqual({ result: "pass", checked: 1 });
});

test("a refusal is a decline only if the processor declined before it charged", () => {
  const retried = () => declining().attempt({ endpoint: "charge" }, 30, 40);
  expect(check(retried().account([{ result: "charged" }])).result).toBe("skip");
  expect(check(retried().account([{ result: "failed" }, { result: "declined" }, { result: "charged" }])).result).toBe(
    "fail",
  );
});

test("a contract that is silent on declines excuses them", () => {
  const stored = { validation: ["stored"], failedBeforeEffect: ["released"], declined: "undocumented" } as const;
  const silent = declining({ stored: { ...stored, validation: ["stored"], failedBeforeEffect: ["released"] } });
  expect(check(silent.attempt({ endpoint: "charge" }, 30, 40))).toMatchObject({ result: "skip", excused: true });
});

test("agrees with a brute-force checker", () => {
  const histories = historiesWith({
    contract: variedContract,
    sketch: fc.record({
      operation: fc.constantFrom("one", "one", "one", "two"),
      key: fc.constant("key"),
      caller: fc.constant("alice"),
      endpoint: fc.constant("create"),
      query: fc.constant(""),
      malformed: fc.constant(null),
      payload: fc.constantFrom(
        { kind: "original" } as const,
        { kind: "original" } as const,
        { kind: "invalid" } as const,
      ),
    }),
    outcome: fc.constantFrom(
      ...[201, 201, 400, 400, 409, 422, 503, 503].map((status) => answer(status)),
      answer(503, { id: 1 }),
      answer(400, { id: 1 }),
      lost,
    ),
  });
  agreesWith(
    errorPolicyIsKept,
    (history) => {
      const { contract } = history;
      const { stored } = contract;
      const isOnly = (storage: typeof stored.validation, one: "stored" | "released") =>
        storage !== "undocumented" && storage.length === 1 && storage[0] === one;
      const earliest = (some: readonly Recorded[]) =>
        some.find((one) => some.every((other) => one.completedAt <= other.completedAt));
      const isCorrected = ({ attempt }: Recorded) => ["original", "spelling"].includes(attempt.payload.kind);
      const isInvalid = (one: Recorded) =>
        one.attempt.payload.kind === "invalid" && statusOf(one) === 400 && !toldToWait(contract, one);
      let checked = 0;
      let violated = 0;
      const judge = (isRight: boolean): void => {
        checked += 1;
        if (!isRight) violated += 1;
      };
      for (const all of certainKeys(history)) {
        const attempts = remembered(contract, all);
        const error = earliest(attempts.filter(isInvalid));
        if (error && all.every((one) => one.invokedAt > error.completedAt || sameRequest(contract, one, error))) {
          const after = attempts.filter(
            (one) =>
              one.invokedAt > error.completedAt &&
              one.attempt.condition !== "fails" &&
              statusOf(one) > 0 &&
              statusOf(one) < 500 &&
              !turnedAway(contract, one),
          );
          const firstCorrected = after.find(isCorrected);
          for (const one of after) {
            if (isOnly(stored.validation, "stored")) {
              if (sameRequest(contract, one, error)) judge(sameBytes(contract, error, one));
              else if (isCorrected(one)) judge(!succeeded(one));
            }
            if (!isOnly(stored.validation, "released") || !isCorrected(one) || toldToWait(contract, one)) continue;
            if (firstCorrected === undefined || !sameRequest(contract, firstCorrected, one)) continue;
            const isRivalled = all.some((rival) => {
              if (sameRequest(contract, rival, one) || rival.outcome.kind === "refused") return false;
              const end = isInvalid(rival) && sameRequest(contract, rival, error) ? rival.completedAt : Infinity;
              return meet(rival.invokedAt, end, one.invokedAt, one.completedAt);
            });
            if (!isRivalled) judge(succeeded(one));
          }
        }
        const calls = (one: Recorded) =>
          history.downstream.known ? (history.downstream.value.get(one.attempt.reference)?.calls ?? []) : [];
        const isDeclined = all.every(
          (one) => calls(one).find(({ result }) => ["charged", "declined"].includes(result))?.result === "declined",
        );
        const decline = earliest(
          attempts.filter(
            (one) =>
              statusOf(one) >= 400 &&
              statusOf(one) < 500 &&
              !(one.attempt.payload.kind === "invalid" && statusOf(one) === 400) &&
              !turnedAway(contract, one) &&
              !toldToWait(contract, one) &&
              !toldOtherPayload(contract, one),
          ),
        );
        const wasFirst =
          decline && all.every((one) => one.invokedAt > decline.completedAt || sameRequest(contract, one, decline));
        if (isOnly(stored.declined, "stored") && isDeclined && wasFirst) {
          for (const one of attempts) {
            if (one.invokedAt <= decline.completedAt || one.attempt.condition === "fails") continue;
            if (statusOf(one) === 0 || statusOf(one) >= 500 || turnedAway(contract, one)) continue;
            if (sameRequest(contract, one, decline)) judge(sameBytes(contract, decline, one));
          }
        }
        const failure = earliest(attempts.filter((one) => one.attempt.condition === "fails" && statusOf(one) >= 500));
        if (!failure) continue;
        for (const one of attempts) {
          if (one.invokedAt <= failure.completedAt || one.attempt.condition === "fails" || statusOf(one) === 0)
            continue;
          if (!sameRequest(contract, one, failure) || turnedAway(contract, one) || underFault(history, one)) continue;
          const wasAlone = all.every((other) => other === failure || other.invokedAt > failure.completedAt);
          if (isOnly(stored.failedBeforeEffect, "stored") && wasAlone) judge(sameBytes(contract, failure, one));
          if (!isOnly(stored.failedBeforeEffect, "released")) continue;
          const meetsFailing = all.some(
            (other) =>
              other.attempt.condition === "fails" &&
              meet(
                other.invokedAt,
                other.outcome.kind === "indeterminate" ? Infinity : other.completedAt,
                one.invokedAt,
                one.completedAt,
              ),
          );
          if (succeeded(one)) judge(true);
          else if (statusOf(one) >= 500 && !meetsFailing) judge(false);
        }
      }
      return resultOf(checked, violated);
    },
    5_000,
    histories,
  );
});

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Recorded } from "../history.ts";
import { agreesWith, historiesWith, variedContract } from "../testing/arbitrary-history.ts";
import { answer, HistorySketch, lost } from "../testing/history-builder.ts";
import {
  faultsOver,
  meet,
  resultOf,
  sameRequest,
  sameText,
  statusOf,
  succeeded,
  toldOtherPayload,
  toldToWait,
} from "../testing/naive-answers.ts";
import { conflictOnlyWhileInFlight } from "./conflict-only-while-in-flight.ts";

const conflict = answer(409);
const check = (sketch: HistorySketch) => conflictOnlyWhileInFlight.check(sketch.build());

test("a conflict when the only other attempt was over is a violation", () => {
  const sketch = new HistorySketch().attempt({}, 0, 20).attempt({}, 30, 40, conflict).attempt({}, 50, 60, conflict);
  expect(check(sketch)).toEqual({
    result: "fail",
    checked: 2,
    violations: [
      {
        message:
          "a2 (409) was told that a duplicate is in flight, and of the 3 attempt(s) with key key no other can have been",
        expected: "an answer other than a conflict, since nothing was executing",
        actual: "a2 (409)",
        key: "key",
        attempts: ["a2"],
      },
    ],
  });
});

test("another payload that is told to wait is a mismatch answered by the wrong status", () => {
  const sketch = new HistorySketch().attempt({}, 0, 20).attempt({ payload: { kind: "other" } }, 30, 40, conflict);
  expect(check(sketch)).toMatchObject({
    result: "fail",
    violations: [
      {
        message: expect.stringContaining(
          "a2 (409) had another payload than a1 (201) under the key key, and the mismatch was answered by 409, as a duplicate in flight is, where the contract promises 422",
        ),
        expected: "422",
        actual: "a2 (409)",
      },
    ],
  });
});

test("two attempts that were both told to wait do not excuse each other", () => {
  expect(check(new HistorySketch().attempt({}, 0, 20, conflict).attempt({}, 1, 21, conflict)).result).toBe("fail");
});

test("who was kept from its work for a lease may have been the holder, and is told to come back", () => {
  const sketch = (until: number) => new HistorySketch().contract({ leaseMs: 100 }).attempt({}, 0, until, conflict);
  expect(check(sketch(100)).result).toBe("skip");
  expect(check(sketch(99)).result).toBe("fail");
});

test("a holder that lost its lease and was told to come back had made conflicts true until then", () => {
  const sketch = (at: number) =>
    new HistorySketch()
      .contract({ leaseMs: 100 })
      .attempt({}, 0, 200, conflict)
      .attempt({ replica: 1 }, at, at + 5, conflict);
  expect(check(sketch(50)).result).toBe("pass");
  expect(check(sketch(201)).result).toBe("fail");
});

test("an open call to the processor may be looked into by a process that no attempt shows", () => {
  const sketch = (endpoint: string) =>
    new HistorySketch()
      .contract({ leaseMs: 100 })
      .attempt({ endpoint }, 0, 20, lost)
      .attempt({ endpoint }, 5_000, 5_010, conflict);
  expect(check(sketch("charge")).result).toBe("pass");
  expect(check(sketch("create")).result).toBe("fail");
});

test("a rejected or a refused attempt does not execute", () => {
  const other = { operation: "other", payload: { kind: "other" } } as const;
  const rejected = new HistorySketch().attempt({}, 0, 5).attempt(other, 10, 30, answer(422));
  expect(check(rejected.attempt({}, 11, 20, conflict)).result).toBe("fail");
  const refused = new HistorySketch().attempt({}, 0, 30, { kind: "refused", reason: "ECONNREFUSED" });
  expect(check(refused.attempt({}, 10, 20, conflict)).result).toBe("fail");
});

test("a conflict while another attempt may be executing is right, also at equal times", () => {
  const during = new HistorySketch().attempt({}, 0, 100).attempt({}, 10, 20, conflict);
  expect(check(during)).toEqual({ result: "pass", checked: 1 });
  expect(check(new HistorySketch().attempt({}, 0, 20).attempt({}, 20, 30, conflict)).result).toBe("pass");
  expect(check(new HistorySketch().attempt({}, 0, 20, conflict).attempt({}, 20, 30)).result).toBe("pass");
});

test("the other attempt may be anyone's with the same key text, and need not succeed", () => {
  const bob = { caller: "bob", endpoint: "refund", operation: "bob's" };
  expect(check(new HistorySketch().attempt(bob, 0, 100).attempt({}, 10, 20, conflict)).result).toBe("pass");
  const failing = new HistorySketch().attempt({ condition: "fails" }, 0, 100, answer(503));
  expect(check(failing.attempt({}, 10, 20, conflict)).result).toBe("pass");
});

test("an invalid request may have the key while it is judged, under a status that also means another payload", () => {
  const strange = { payload: { kind: "invalid" } } as const;
  const sketch = new HistorySketch().attempt(strange, 0, 30, answer(400)).attempt({}, 10, 20, conflict);
  expect(check(sketch.contract({ mismatch: [{ status: 400 }] })).result).toBe("pass");
});

test("an attempt without an answer may be executing until its lease is over", () => {
  const sketch = (at: number) =>
    new HistorySketch()
      .contract({ leaseMs: 1000 })
      .attempt({}, 0, 20, lost)
      .attempt({}, at, at + 10, conflict);
  expect(check(sketch(2_015)).result).toBe("pass");
  expect(check(sketch(2_025)).result).toBe("fail");
  const open = new HistorySketch().contract({ leaseMs: 1000 }).attempt({}, 0, null);
  expect(check(open.attempt({}, 90_000, 90_010, conflict)).result).toBe("pass");
  expect(check(sketch(90_000).contract({ leaseMs: "undocumented" })).result).toBe("pass");
});

test("a gateway that answers for a target does not end the target's work", () => {
  const sketch = (status: number) =>
    new HistorySketch().attempt({}, 0, 20, answer(status)).attempt({}, 50, 60, conflict);
  expect(check(sketch(504)).result).toBe("pass");
  expect(check(sketch(500)).result).toBe("fail");
});

test("what was sent to a paused replica may begin when it wakes up", () => {
  const sketch = (at: number) =>
    new HistorySketch()
      .contract({ leaseMs: 1000 })
      .paused(0, 10, 8_000)
      .attempt({}, 5, 100, { kind: "indeterminate", reason: "timeout" })
      .attempt({ replica: 1 }, at, at + 10, conflict);
  expect(check(sketch(8_500)).result).toBe("pass");
  expect(check(sketch(12_500)).result).toBe("fail");
});

test("a status that also means another payload is judged only where there is one payload", () => {
  const both = { mismatch: [{ status: 409 }] };
  const one = new HistorySketch().contract(both).attempt({}, 0, 20).attempt({}, 30, 40, conflict);
  expect(check(one).result).toBe("fail");
  const other = { operation: "other", payload: { kind: "other" } } as const;
  const two = new HistorySketch().contract(both).attempt({}, 0, 20).attempt(other, 30, 40, conflict);
  expect(check(two).result).toBe("skip");
});

test("an answer that may be the success itself is not judged as a conflict", () => {
  const inFlight = { answers: [{ status: 201 }], retryAfter: "optional" as const };
  expect(check(new HistorySketch().contract({ inFlight }).attempt({}, 0, 20).attempt({}, 30, 40)).result).toBe("skip");
});

test("a silent contract and one that holds duplicates back are excused", () => {
  const sketch = (answers: "undocumented" | []) =>
    new HistorySketch().contract({ inFlight: { answers, retryAfter: "optional" } }).attempt({}, 0, 20, conflict);
  expect(check(sketch("undocumented"))).toMatchObject({ result: "skip", excused: true });
  expect(check(sketch([]))).toMatchObject({ result: "skip", excused: true });
  expect(check(new HistorySketch().attempt({}, 0, 20))).toMatchObject({ result: "skip", excused: false });
});

const leased = () => new HistorySketch().contract({ leaseMs: 1_000 });

test("the lease of a holder that was killed makes conflicts true, until lease and margin are over", () => {
  const killed = (at: number) =>
    check(
      leased()
        .fault("kill-replica", { replica: 0 }, 10, 300)
        .attempt({}, 0, 12, lost)
        .attempt({ replica: 1 }, at, at + 5, conflict),
    ).result;
  expect(killed(2_010)).toBe("pass");
  expect(killed(2_011)).toBe("fail");
});

test("a server error under a fault may leave the key held, one without a fault may not", () => {
  const held = (operation: string) =>
    check(
      leased()
        .fault("processor", { operation }, 0, 400)
        .attempt({ operation: "other", key: "other" }, 0, 5)
        .attempt({}, 0, 20, answer(503))
        .attempt({}, 500, 510, conflict),
    ).result;
  expect(held("op")).toBe("pass");
  expect(held("other")).toBe("fail");
});

test("agrees with a brute-force checker", () => {
  const late = fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 40 }) },
    { weight: 1, arbitrary: fc.integer({ min: 990, max: 1_060 }) },
    { weight: 1, arbitrary: fc.integer({ min: 3_000, max: 3_100 }) },
  );
  const outcome = fc.constantFrom(...[201, 201, 409, 409, 422, 400, 503, 504].map((status) => answer(status)), lost, {
    kind: "refused",
    reason: "ECONNREFUSED",
  } as const);
  const histories = historiesWith({ contract: variedContract, from: late, outcome });
  agreesWith(
    conflictOnlyWhileInFlight,
    (history) => {
      const { contract, attempts } = history;
      const certainly = (one: Recorded, isOne: boolean): boolean =>
        toldToWait(contract, one) &&
        one.attempt.malformed === null &&
        !(one.attempt.payload.kind === "invalid" && statusOf(one) === 400) &&
        !succeeded(one) &&
        (isOne || !toldOtherPayload(contract, one));
      const endOf = (one: Recorded): number => {
        const over = faultsOver(history, one);
        const mayHold = [502, 504].includes(statusOf(one)) || (statusOf(one) >= 500 && over.length > 0);
        if (one.outcome.kind === "responded" && !mayHold) return one.completedAt;
        if (contract.leaseMs === "undocumented" || one.attempt.endpoint === "charge") return Infinity;
        const killed = history.faults.filter(
          ({ fault, replica, from }) =>
            fault === "kill-replica" && replica === one.attempt.replica && from > one.invokedAt,
        );
        const last = Math.max(one.completedAt, ...over.map(({ until }) => until + 2_000_000));
        const end = Math.min(last, ...killed.map(({ from }) => from));
        return end + contract.leaseMs * 1000 + 1_000_000;
      };
      let checked = 0;
      let violated = 0;
      for (const conflict of attempts) {
        const same = attempts.filter((one) => sameText(contract, conflict, one));
        const isOne = same.every(
          (one) =>
            sameRequest(contract, one, conflict) &&
            one.attempt.caller === conflict.attempt.caller &&
            one.attempt.endpoint === conflict.attempt.endpoint &&
            one.attempt.query === conflict.attempt.query,
        );
        if (same.length === 0 || !certainly(conflict, isOne)) continue;
        const isLong = (one: Recorded): boolean =>
          contract.leaseMs !== "undocumented" && one.completedAt - one.invokedAt >= contract.leaseMs * 1000;
        if (isLong(conflict)) continue;
        checked += 1;
        const isTrue = same.some((one) => {
          if (one === conflict || one.outcome.kind === "refused") return false;
          if (certainly(one, isOne)) {
            return isLong(one) && meet(one.invokedAt, one.completedAt, conflict.invokedAt, conflict.completedAt);
          }
          const isInvalid = one.attempt.payload.kind === "invalid" && statusOf(one) === 400;
          if (toldOtherPayload(contract, one) && !isOne && !isInvalid) return false;
          return meet(one.invokedAt, endOf(one), conflict.invokedAt, conflict.completedAt);
        });
        if (!isTrue) violated += 1;
      }
      return resultOf(checked, violated);
    },
    6_000,
    histories,
  );
});

import { expect, test } from "vitest";
import type { Outcome } from "../operation.ts";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { anyTakeover } from "../testing/arbitrary-takeover.ts";
import { answer, effect, HistorySketch, lost } from "../testing/history-builder.ts";
import { resultOf, sameAnswer, statusOf, succeeded } from "../testing/naive-answers.ts";
import { naiveTakeovers } from "../testing/naive-takeover.ts";
import { zombieIsFenced } from "./zombie-is-fenced.ts";

const check = (sketch: HistorySketch) => zombieIsFenced.check(sketch.build());
const elsewhere = { replica: 1 };
const taken = answer(201, { id: 1 });

/** Held by a1 on the paused replica, a2 told to wait, taken over by a3; then a1 wakes up. */
function woken(outcome: Outcome): HistorySketch {
  return new HistorySketch()
    .contract({ leaseMs: 100 })
    .paused(0, 10, 300)
    .attempt({}, 0, 310, outcome)
    .attempt(elsewhere, 20, 25, answer(409))
    .attempt(elsewhere, 150, 170, taken);
}

test("a zombie that answers with a success of its own is a violation", () => {
  expect(check(woken(answer(201, { id: 2 })))).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message:
          "a1 (201) was paused and lost its key to a3 (201), and when it woke up it answered with another body at /id",
        expected: '{"id":1}',
        actual: '{"id":2}',
        key: "key",
        attempts: ["a3", "a1"],
      },
    ],
  });
});

test("a zombie that takes effect after it woke up is a violation, whatever it answered", () => {
  for (const outcome of [lost, answer(409), answer(500), taken]) {
    const sketch = woken(outcome)
      .observed(200, [effect("op")])
      .books([effect("op"), effect("op")]);
    expect(check(sketch).result).toBe("fail");
  }
  const sketch = woken(lost)
    .observed(200, [effect("op")])
    .books([effect("op"), effect("op")]);
  expect(check(sketch)).toMatchObject({
    violations: [
      { attempts: ["a3", "a1"], expected: "1 effect(s) of op, as during the pause", actual: "2 effects in the books" },
    ],
  });
});

test("a zombie that answers with the taker's answer, or with an error, is fenced", () => {
  expect(check(woken(taken))).toEqual({ result: "pass", checked: 1 });
  expect(check(woken(answer(500)))).toEqual({ result: "pass", checked: 1 });
  const sketch = woken(lost)
    .observed(200, [effect("op")])
    .books([effect("op")]);
  expect(check(sketch)).toEqual({ result: "pass", checked: 1 });
});

test("the taker's own effect may appear after a reading that began before it", () => {
  expect(
    check(
      woken(lost)
        .observed(171, [])
        .books([effect("op")]),
    ),
  ).toEqual({ result: "pass", checked: 1 });
});

test("without an answer of the holder and without books nothing was seen", () => {
  expect(check(woken(lost).withoutBooks())).toMatchObject({ result: "skip", excused: false });
  expect(check(woken(lost).books([effect("op"), effect("op")])).result).toBe("skip");
  const inFlight = new HistorySketch().paused(0, 10, 300).attempt({}, 0, 310, answer(201, { id: 2 }));
  expect(check(inFlight.attempt(elsewhere, 150, 170, taken)).result).toBe("skip");
});

test("books that several operations share, or that retention may have cleared, are not compared", () => {
  const twice = [effect("op"), effect("op")];
  const shared = woken(lost).attempt({ operation: "twin", reference: "op", key: "twin" }, 320, 330);
  expect(check(shared.observed(200, [effect("op")]).books(twice)).result).toBe("skip");
  const short = woken(lost)
    .contract({ leaseMs: 100, retentionMs: 250 })
    .observed(200, [effect("op")])
    .books(twice);
  expect(check(short).result).toBe("skip");
});

test("a delayed holder is a zombie, a killed or hanging one never wakes up", () => {
  const held = (fault: string) =>
    new HistorySketch()
      .contract({ leaseMs: 100 })
      .fault(fault, { replica: 0, operation: "op", phase: "claimed" }, 10, 300)
      .attempt({}, 0, 280, answer(201, { id: 2 }))
      .attempt(elsewhere, 20, 25, answer(409))
      .attempt(elsewhere, 150, 170, taken)
      .books([effect("op"), effect("op")]);
  expect(check(held("delay"))).toMatchObject({
    result: "fail",
    violations: [{ message: expect.stringContaining("was delayed and lost its key to") }],
  });
  for (const fault of ["hang", "kill-replica"]) expect(check(held(fault)).result).toBe("skip");
});

test("a silent contract is excused", () => {
  expect(check(woken(lost).contract({ leaseMs: "undocumented" }))).toMatchObject({ result: "skip", excused: true });
  const inFlight = { answers: [], retryAfter: "optional" as const };
  expect(check(woken(lost).contract({ inFlight }))).toMatchObject({ result: "skip", excused: true });
});

test("agrees with a brute-force checker", () => {
  agreesWith(
    zombieIsFenced,
    (history) => {
      const { contract, effects } = history;
      const { answers } = contract.inFlight;
      if (contract.leaseMs === "undocumented" || answers === "undocumented" || answers.length === 0) return "skip";
      let checked = 0;
      let violated = 0;
      for (const { window, taker, holders, isSafe } of naiveTakeovers(history)) {
        if (window.fault !== "pause-replica" && window.fault !== "delay") continue;
        const { reference } = taker.attempt;
        const reading = history.observations
          .filter(({ at, effects }) => effects !== null && at > taker.completedAt && at <= window.until)
          .at(-1);
        const isOnly = history.operations.filter((one) => one.reference === reference).length === 1;
        const canRead = isSafe && isOnly && effects.known && reading !== undefined;
        if (!canRead && !holders.some((one) => statusOf(one) > 0)) continue;
        checked += 1;
        const before = Math.max(1, reading?.effects?.get(reference)?.length ?? 0);
        const after = effects.known ? (effects.value.get(reference)?.length ?? 0) : 0;
        const answersOtherwise = holders.some((one) => succeeded(one) && !sameAnswer(contract, taker, one));
        if (answersOtherwise || (canRead && after > before)) violated += 1;
      }
      return resultOf(checked, violated);
    },
    3_000,
    anyTakeover,
  );
});

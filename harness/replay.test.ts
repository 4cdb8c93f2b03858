import { expect, test } from "vitest";
import type { Event } from "./event.ts";
import { invariants } from "./invariants/list.ts";
import { type Judgement, judge } from "./judge.ts";
import { historyOf } from "./reading/history-builder.ts";
import { countOf, type Repeat, repeatIn, replayVerdict } from "./replay.ts";
import { answer, effect, HistorySketch, SCENARIO } from "./testing/history-builder.ts";

const violation = { invariant: "at-most-one-effect", scenario: SCENARIO };
const failed: Repeat = { result: "failed", because: "two effects" };
const held: Repeat = { result: "held" };
const inconclusive: Repeat = { result: "inconclusive", because: "no race" };

function judged(
  effects: number,
  change: (events: readonly Event[]) => readonly Event[] = (events) => events,
): Judgement {
  const sketch = new HistorySketch()
    .attempt({}, 0, 20, answer(201, { id: "1" }))
    .attempt({}, 1, 21, answer(201, { id: "1" }))
    .books(Array.from({ length: effects }, () => effect("op")));
  return judge(historyOf(change(sketch.events())), invariants);
}

const unraced: Event = { type: "unraced", at: 30_000, scenario: SCENARIO, tries: 5 };
const withUnraced = (events: readonly Event[]): readonly Event[] => [
  ...events.slice(0, -2),
  unraced,
  ...events.slice(-2),
];

test("a run in which the same invariant is violated in the same scenario failed again", () => {
  expect(repeatIn(judged(2), violation)).toMatchObject({
    result: "failed",
    because: expect.stringMatching(/2 effects/),
  });
});

test("a violation counts also in a run in which other bursts never overlapped", () => {
  expect(repeatIn(judged(2, withUnraced), violation)).toMatchObject({ result: "failed" });
});

test("a violation seen through a history with gaps may only seem to be one: inconclusive", () => {
  const orphan: Event = { type: "completed", at: 25_000, attemptId: "unknown", outcome: answer(201, { id: "3" }) };
  const withGap = (events: readonly Event[]): readonly Event[] => [...events.slice(0, -2), orphan, ...events.slice(-2)];
  expect(repeatIn(judged(2, withGap), violation)).toMatchObject({ result: "inconclusive" });
});

test("a run in which only other invariants are violated held", () => {
  const judgement = judge(
    historyOf(
      new HistorySketch()
        .attempt({}, 0, 20, answer(201, { id: "1" }))
        .attempt({}, 30, 40, answer(201, { id: "2" }))
        .books([effect("op")])
        .events(),
    ),
    invariants,
  );
  expect(judgement.result).toBe("fail");
  expect(repeatIn(judgement, violation)).toEqual({ result: "held" });
});

test("a run whose race did not take place, or that was cut, is inconclusive and not one that held", () => {
  expect(repeatIn(judged(1), violation)).toEqual({ result: "held" });
  expect(repeatIn(judged(1, withUnraced), violation)).toMatchObject({
    result: "inconclusive",
    because: expect.stringMatching(/never overlapped/),
  });
  expect(
    repeatIn(
      judged(1, (events) => events.slice(0, -1)),
      violation,
    ),
  ).toMatchObject({ result: "inconclusive" });
});

test("a run that never came to the scenario is inconclusive", () => {
  expect(repeatIn(judged(2), { ...violation, scenario: "another" })).toEqual({
    result: "inconclusive",
    because: "at-most-one-effect was not looked at in another",
  });
});

test("an invariant that had nothing to look at is inconclusive, with its reason", () => {
  const unlooked = { ...violation, invariant: "zombie-is-fenced" };
  expect(repeatIn(judged(1), unlooked)).toMatchObject({ result: "inconclusive", because: expect.stringMatching(/./) });
});

test.each([
  [[failed, held, inconclusive], "fail"],
  [[held, held], "pass"],
  [[held, inconclusive], "inconclusive"],
  [[], "inconclusive"],
] as const)("%j together are %s", (repeats, verdict) => {
  expect(replayVerdict(repeats)).toBe(verdict);
});

test("runs are counted by what they showed", () => {
  expect(countOf([failed, held, failed, inconclusive], "failed")).toBe(2);
});

import { expect, test } from "vitest";
import { BENCH_CLASSES, type BenchClass } from "./bench-class.ts";
import { blocksIn, type Load, scheduleOf, type Treatment } from "./schedule.ts";

const treatments: readonly Treatment[] = [0, 1].flatMap((target) =>
  BENCH_CLASSES.map((name: BenchClass) => ({ target, class: name })),
);
const load: Load = { rate: 500, durationMs: 20_000, pace: "exponential", seed: 7 };
const nameOf = ({ target, class: name }: Treatment): string => `${target} ${name}`;

test("every block holds every class of every target equally often, in an order of its own", () => {
  const slots = scheduleOf(treatments, load);
  const orders = new Set<string>();
  for (let block = 0; block < blocksIn(slots); block += 1) {
    const inBlock = slots.filter((slot) => slot.block === block);
    const counts = treatments.map((one) => inBlock.filter((slot) => nameOf(slot) === nameOf(one)).length);
    expect(new Set(counts).size).toBe(1);
    orders.add(inBlock.map(nameOf).join());
  }
  expect(orders.size).toBe(blocksIn(slots));
});

test("the same seed gives the same schedule, another one another", () => {
  expect(scheduleOf(treatments, load)).toEqual(scheduleOf(treatments, load));
  expect(scheduleOf(treatments, load)).not.toEqual(scheduleOf(treatments, { ...load, seed: 8 }));
});

test("starts come at the rate that was asked for, after a warm-up that is not counted", () => {
  for (const pace of ["exponential", "constant"] as const) {
    const slots = scheduleOf(treatments, { ...load, pace });
    const counted = slots.filter(({ block }) => block >= 0);
    const seconds = ((counted.at(-1)?.at ?? 0) - (counted[0]?.at ?? 0)) / 1_000_000;
    expect(counted.length / seconds).toBeGreaterThan(470);
    expect(counted.length / seconds).toBeLessThan(530);
    expect(slots.length).toBeGreaterThan(counted.length);
    expect(slots[0]?.block).toBe(-1);
  }
});

test("constant gaps are constant, exponential ones have the spread of their mean", () => {
  const gapsOf = (pace: Load["pace"]): number[] => {
    const slots = scheduleOf(treatments, { ...load, pace });
    return slots.slice(1).map(({ at }, index) => at - (slots[index]?.at ?? 0));
  };
  expect(new Set(gapsOf("constant"))).toEqual(new Set([2_000]));
  const gaps = gapsOf("exponential");
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
  expect(deviation / mean).toBeGreaterThan(0.9);
  expect(deviation / mean).toBeLessThan(1.1);
});

test("too few requests for ten blocks is a mistake in words", () => {
  expect(() => scheduleOf(treatments, { ...load, rate: 10, durationMs: 1_000 })).toThrow(
    /found 10 request\(s\) in all, expected at least 120/,
  );
});

test("a short bench has ten blocks all the same", () => {
  expect(blocksIn(scheduleOf(treatments, { ...load, rate: 150, durationMs: 2_000 }))).toBeGreaterThanOrEqual(10);
});

import { expect, test } from "vitest";
import { type Random, randomOf } from "../random.ts";
import { compare, type Estimate, quantile, type Sample } from "./statistics.ts";

const BLOCKS = 40;
const SEEDS = Array.from({ length: 20 }, (_, index) => index + 1);

/** Latencies as they are: skewed, and each block with a luck of its own that all classes share. */
function classesOf(seed: number, shifts: readonly number[], perBlock = 25): readonly Sample[] {
  const random = randomOf(seed);
  const samples = shifts.map(() => ({ values: [] as number[], blocks: [] as number[] }));
  for (let block = 0; block < BLOCKS; block += 1) {
    const luck = 2_000 * random.next();
    for (const [index, sample] of samples.entries()) {
      for (let count = 0; count < perBlock; count += 1) {
        sample.values.push(5_000 + luck + exponential(random) * 1_500 + (shifts[index] ?? 0));
        sample.blocks.push(block);
      }
    }
  }
  return samples;
}

const exponential = (random: Random): number => -Math.log(1 - random.next());
const contains = ({ low, high }: Estimate, value: number): boolean => low <= value && value <= high;

function differences(seed: number, shift: number): readonly (Estimate | null)[] {
  const [baseline, shifted] = classesOf(seed, [0, shift]);
  if (baseline === undefined || shifted === undefined) throw new Error("two classes were made");
  return compare(shifted, baseline, [0.5, 0.9], { blocks: BLOCKS, random: randomOf(seed) }).map(
    ({ difference }) => difference,
  );
}

function hits(shift: number, value: number, index: number): number {
  return SEEDS.filter((seed) => {
    const found = differences(seed, shift)[index];
    return found !== null && found !== undefined && contains(found, value);
  }).length;
}

test("a quantile is the smallest value that its share of all does not exceed", () => {
  const sorted = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
  expect([0, 0.1, 0.11, 0.5, 0.9, 0.99, 1].map((share) => quantile(sorted, share))).toEqual([1, 1, 2, 5, 9, 10, 10]);
  expect(quantile(new Float64Array([7]), 0.5)).toBe(7);
});

test.each([
  ["p50", 0],
  ["p90", 1],
])("a shift of 3 ms is inside the interval of the difference at %s, in at least 17 of 20 seeds", (_, index) => {
  expect(hits(3_000, 3_000, index)).toBeGreaterThanOrEqual(17);
  expect(hits(3_000, 0, index)).toBe(0);
});

test("A/A contains zero in at least 17 of 20 seeds", () => {
  expect(hits(0, 0, 0)).toBeGreaterThanOrEqual(17);
});

test("an interval of a known distribution contains its median about as often as it says", () => {
  const inside = SEEDS.filter((seed) => {
    const random = randomOf(seed * 31);
    const values = Array.from({ length: 2_000 }, () => exponential(random));
    const blocks = values.map((_, index) => index % BLOCKS);
    const [median] = compare({ values, blocks }, null, [0.5], { blocks: BLOCKS, random });
    return median !== undefined && contains(median.absolute, Math.LN2);
  });
  expect(inside.length).toBeGreaterThanOrEqual(17);
});

test("what blocks do to both sides cancels out of the difference, and not out of the figures themselves", () => {
  const [baseline, shifted] = classesOf(3, [0, 0], 200);
  if (baseline === undefined || shifted === undefined) throw new Error("two classes were made");
  const [paired] = compare(shifted, baseline, [0.5], { blocks: BLOCKS, random: randomOf(1) });
  if (!paired?.difference) throw new Error("a difference was asked for");
  const width = ({ low, high }: Estimate): number => high - low;
  expect(width(paired.difference)).toBeLessThan(width(paired.absolute) / 2);
});

test("a ratio is that of the figures, and the same seed gives the same interval", () => {
  const double = { values: [10, 20, 30, 40], blocks: [0, 0, 1, 1] };
  const single = { values: [5, 10, 15, 20], blocks: [0, 0, 1, 1] };
  const once = () => compare(double, single, [0.5], { blocks: 2, random: randomOf(9) });
  expect(once()[0]?.ratio).toEqual({ value: 2, low: 2, high: 2 });
  expect(once()).toEqual(once());
});

test("blocks in which a class has nothing do no harm", () => {
  const [only] = compare({ values: [7], blocks: [3] }, null, [0.5], { blocks: 10, random: randomOf(1) });
  expect(only?.absolute).toEqual({ value: 7, low: 7, high: 7 });
});

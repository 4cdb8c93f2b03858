import { expect, test } from "vitest";
import { withHolders } from "./holders.ts";
import type { Slot } from "./schedule.ts";

const SLOW_MS = 250;

function slots(count: number, gap: number): readonly Slot[] {
  return Array.from({ length: count }, (_, index) => ({
    target: index % 2,
    class: index % 3 === 0 ? ("conflict" as const) : ("replay" as const),
    block: 0,
    at: index * gap,
  }));
}

test("every conflict comes while its holder is neither in its first moments nor in its last", () => {
  for (const gap of [1_000, 9_000, 400_000]) {
    const starts = withHolders(slots(300, gap), [SLOW_MS, SLOW_MS]);
    const begun = new Map(
      starts.flatMap(({ slot, holder, at }) => (slot === null && holder !== null ? [[holder, at]] : [])),
    );
    const conflicts = starts.filter(({ slot }) => slot?.class === "conflict");
    expect(conflicts).toHaveLength(100);
    for (const { at, holder, target } of conflicts) {
      const age = at - (begun.get(holder ?? "") ?? Number.NaN);
      expect(age).toBeGreaterThanOrEqual(0.29 * SLOW_MS * 1000);
      expect(age).toBeLessThanOrEqual(0.71 * SLOW_MS * 1000);
      expect(holder).toContain(`holder-${target}-`);
    }
  }
});

test("starts are in order, nothing starts before the load, and distances stay as they were planned", () => {
  const planned = slots(300, 5_000);
  const starts = withHolders(planned, [SLOW_MS, SLOW_MS]);
  const times = starts.map(({ at }) => at);
  expect(times).toEqual([...times].sort((one, other) => one - other));
  expect(times[0]).toBeGreaterThanOrEqual(0);
  const shifts = new Set(starts.flatMap(({ slot, at }) => (slot === null ? [] : [at - slot.at])));
  expect(shifts.size).toBe(1);
});

test("a target without conflicts has no holders", () => {
  const starts = withHolders(slots(30, 5_000), [null, null]);
  expect(starts.every(({ slot }) => slot !== null)).toBe(true);
});

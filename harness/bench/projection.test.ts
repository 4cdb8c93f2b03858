import fc from "fast-check";
import { expect, test } from "vitest";
import { projectionOf, storedAt } from "./projection.ts";
import type { Cycle, RecordBytes } from "./storage-report.ts";

const SIZE: RecordBytes = { answer: "small", records: 600, body: 200, row: 500, toast: 100, index: 150 };
const VOLUME = { perDay: 2_000_000, retentionDays: 7 };
const DELETED: Cycle = { keptShare: 1, regrowth: 1.05, deadShare: 0.2 };
const DROPPED: Cycle = { keptShare: 0, regrowth: 0.98, deadShare: 0.2 };

test("the records of a whole retention are there at once, and the naive estimate knows the bodies only", () => {
  expect(projectionOf(SIZE, null, VOLUME)).toMatchObject({
    records: 14_000_000,
    perDayBytes: 1_500_000_000,
    tableBytes: 8_400_000_000,
    indexBytes: 2_100_000_000,
    bloatBytes: 0,
    plateauBytes: 10_500_000_000,
    naiveBytes: 2_800_000_000,
  });
});

test.each([
  ["deletes leave room until a vacuum, and the table grows beyond itself", DELETED, 0.25],
  ["dropped partitions leave none", DROPPED, 0],
])("%s", (_, cycle, share) => {
  expect(projectionOf(SIZE, cycle, VOLUME).bloatBytes).toBeCloseTo(10_500_000_000 * share);
});

test.each([
  [0, 0, 0],
  [3.5, 5_250_000_000, 0],
  [7, 10_500_000_000, 0],
  // A day after the first retention a seventh of all has died.
  [8, 10_500_000_000, 1_500_000_000],
  [8.75, 10_500_000_000, 2_625_000_000],
  [100, 10_500_000_000, 2_625_000_000],
])("after %d days live records take %d bytes, and bloat %d", (day, live, bloat) => {
  const { tableBytes, indexBytes, bloatBytes } = storedAt(SIZE, DELETED, VOLUME, day);
  expect(tableBytes + indexBytes).toBeCloseTo(live);
  expect(bloatBytes).toBeCloseTo(bloat);
});

test("the curve leads from nothing to the plateau, never down, and its corners are where it bends", () => {
  const bytes = fc.double({ min: 1, max: 1e6, noNaN: true });
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(
      fc.record({ row: bytes, toast: bytes, index: bytes, body: bytes }),
      fc.option(
        fc.record({ keptShare: share, regrowth: fc.double({ min: 0.5, max: 3, noNaN: true }), deadShare: share }),
      ),
      fc.record({
        perDay: fc.double({ min: 1, max: 1e9, noNaN: true }),
        retentionDays: fc.double({ min: 0.01, max: 3650, noNaN: true }),
      }),
      (size, cycle, volume) => {
        const { overTime, plateauBytes } = projectionOf({ ...SIZE, ...size }, cycle, volume);
        const totals = overTime.map(({ tableBytes, indexBytes, bloatBytes }) => tableBytes + indexBytes + bloatBytes);
        expect(totals[0]).toBe(0);
        expect(totals.at(-1)).toBeCloseTo(plateauBytes);
        for (const [index, total] of totals.entries())
          expect(total).toBeGreaterThanOrEqual((totals[index - 1] ?? 0) * (1 - 1e-9));
      },
    ),
  );
});

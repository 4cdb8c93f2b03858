import { InvalidArgumentError } from "commander";
import { describe, expect, test } from "vitest";
import { retentionOf, volumeOf } from "./volume.ts";

describe("a volume", () => {
  test.each([
    ["2000000/day", 2_000_000],
    ["2M/day", 2_000_000],
    ["2,000,000/d", 2_000_000],
    ["50k/h", 1_200_000],
    ["25/s", 2_160_000],
    ["1.5k per hour", 36_000],
    ["700/week", 100],
    ["10/minute", 14_400],
  ])("%s is so many a day", (text, perDay) => {
    expect(volumeOf(text)).toBeCloseTo(perDay, 6);
  });

  test.each(["", "fast", "2000000", "0/day", "-5/day", "2M/fortnight", "/day", "1e999/day", "2MM/day", "9999999M/s"])(
    "%j is none, and the words say how one is written",
    (text) => {
      expect(() => volumeOf(text)).toThrow(InvalidArgumentError);
      expect(() => volumeOf(text)).toThrow(/^Found .+, expected a number and a time, such as 2000000\/day/);
    },
  );
});

describe("a retention", () => {
  test.each([
    ["7d", 7],
    ["24h", 1],
    ["36 hours", 1.5],
    ["90min", 0.0625],
    ["2w", 14],
    ["86400s", 1],
  ])("%s is so many days", (text, days) => {
    expect(retentionOf(text)).toBeCloseTo(days, 9);
  });

  test.each(["", "7", "d", "0d", "-7d", "a week", "7 fortnights", "11y", "4000d"])(
    "%j is none, and the words say how one is written",
    (text) => {
      expect(() => retentionOf(text)).toThrow(InvalidArgumentError);
      expect(() => retentionOf(text)).toThrow(/^Found .+, expected a number and a unit, such as 7d/);
    },
  );
});

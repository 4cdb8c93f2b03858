import { expect, test } from "vitest";
import type { BenchTarget, ClassReport } from "./bench-report.ts";
import { judgeThreshold, thresholdOf } from "./threshold.ts";

const estimate = (value: number, low: number, high: number) => ({ value, low, high });

const measured: ClassReport = {
  class: "first-use",
  left: null,
  samples: 2_000,
  strayed: 0,
  unanswered: 0,
  impossible: 0,
  figures: [
    {
      quantile: "p50",
      absolute: estimate(20_000, 19_000, 21_000),
      difference: estimate(3_000, 2_500, 3_500),
      ratio: estimate(1.2, 1.1, 1.3),
    },
    { quantile: "p99", absolute: estimate(50_000, 40_000, 60_000), difference: null, ratio: null },
  ],
  maxMicros: 90_000,
  curve: [],
  histogram: null,
  costs: { statements: 6, commits: 2 },
  costsOfReference: { statements: 3, commits: 1 },
};
const empty: ClassReport = { ...measured, class: "replay", samples: 0, figures: [], maxMicros: null, costs: null };
const left: ClassReport = { ...empty, class: "conflict", left: "the handler cannot be made slow" };

const target: BenchTarget = {
  target: "orders",
  operation: "create",
  contract: "strict",
  comparedWith: "baseline",
  verdict: "pass",
  reasons: [],
  violations: [],
  attempts: 1,
  history: "history.ndjson",
  againHoldsZero: null,
  classes: [measured, empty, left],
  costsNote: null,
  storage: null,
  storageNote: null,
  cleanup: null,
  cleanupNote: null,
};

test.each([
  ["first-use.p50 < 22ms", "met"],
  ["first-use.p50.absolute<21.001ms", "met"],
  ["first-use.p50 < 21ms", "unknown"],
  ["first-use.p50 <= 21ms", "met"],
  ["first-use.p50 < 20ms", "unknown"],
  ["first-use.p50 <= 19ms", "unknown"],
  ["first-use.p50 < 19ms", "missed"],
  ["first-use.p50 < 0.018s", "missed"],
  ["first-use.p50.difference < 5ms", "met"],
  ["first-use.p50.difference < 3000us", "unknown"],
  ["first-use.p50.difference < 2 ms", "missed"],
  ["first-use.p50.ratio < 1.5", "met"],
  ["first-use.p50.ratio < 1.05", "missed"],
  ["first-use.p99.difference < 5ms", "unknown"],
  ["first-use.p99.9 < 1s", "unknown"],
  ["first-use.max < 100ms", "met"],
  ["first-use.max < 90ms", "missed"],
  ["first-use.statements.difference <= 3", "met"],
  ["first-use.statements.difference < 3", "missed"],
  ["first-use.commits <= 2", "met"],
  ["first-use.commits.ratio <= 1.9", "missed"],
  ["first-use.wal-bytes < 1", "unknown"],
  ["replay.p50 < 1s", "unknown"],
  ["replay.max < 1s", "unknown"],
  ["replay.statements < 5", "unknown"],
  ["conflict.p50 < 1s", "unknown"],
  ["baseline.p50 < 1s", "unknown"],
])("%s is %s", (text, result) => {
  expect(judgeThreshold(thresholdOf(text), target)).toMatchObject({ text, target: "orders", result });
});

test("what was found stands beside the limit", () => {
  const { reason } = judgeThreshold(thresholdOf("first-use.p50.difference < 3ms"), target);
  expect(reason).toBe("3.000 ms, 95 % interval 2.500 ms to 3.500 ms, holds the limit: more requests would tell");
  expect(judgeThreshold(thresholdOf("first-use.p99.9 < 1s"), target).reason).toContain("it takes 10000");
  expect(judgeThreshold(thresholdOf("replay.p50 < 1s"), target).reason).toBe("replay has no sample");
  expect(judgeThreshold(thresholdOf("conflict.p50 < 1s"), target).reason).toContain("cannot be made slow");
});

test.each([
  ["", "expected <class>.<figure>"],
  ["first-use.p99", "expected <class>.<figure>"],
  ["first-use.p99 > 5ms", "expected <class>.<figure>"],
  ["first-use.p99 < fast", "expected <class>.<figure>"],
  ["first-use.p99 < -5ms", "expected <class>.<figure>"],
  ["first-use.p99 < 5ms and more", "expected <class>.<figure>"],
  [
    "firstuse.p99 < 5ms",
    "found the unknown class firstuse, expected one of baseline, again, first-use, replay, conflict, mismatch; did you mean first-use?",
  ],
  ["first-use < 5ms", "found no figure, expected one of p50, p90, p99, p99.9, max, statements"],
  ["first-use.p98 < 5ms", "found the unknown figure p98, expected one of p50"],
  [
    "first-use.p99.diference < 5ms",
    "found the unknown comparison diference, expected one of absolute, difference, ratio; did you mean difference?",
  ],
  ["first-use.max.difference < 5ms", "one request has no interval"],
  ["first-use.p99 < 5", "found no unit, expected us, ms or s"],
  ["first-use.p99 < 5min", "found the unit min, expected us, ms or s"],
  ["first-use.p99.ratio < 5ms", "found the unit ms, expected a number without one"],
  ["first-use.statements < 5ms", "found the unit ms, expected a number without one"],
])("%j is a usage error that says what is known", (text, words) => {
  expect(() => thresholdOf(text)).toThrow(
    expect.objectContaining({ code: "usage", message: expect.stringContaining(words) }),
  );
});

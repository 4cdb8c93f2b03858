import { expect, test } from "vitest";
import { type PaceClock, pace } from "./pace.ts";

/** Time that passes only when somebody waits: timers are late by `timerMicros`, a turn takes 10 µs. */
class FakeClock implements PaceClock {
  micros = 0;
  turns = 0;
  readonly #timerMicros: number;

  constructor(timerMicros = 900) {
    this.#timerMicros = timerMicros;
  }

  now(): number {
    return this.micros;
  }

  async sleepMs(ms: number): Promise<void> {
    this.micros += ms * 1000 + this.#timerMicros;
  }

  async turn(): Promise<void> {
    this.turns += 1;
    this.micros += 10;
  }
}

const every = (micros: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => (index + 1) * micros);

test("each start is at its intent, though timers are late", async () => {
  const clock = new FakeClock();
  const late: number[] = [];
  await pace(every(5_000, 50), clock, (_, lateMicros) => late.push(lateMicros) > 0);
  expect(late).toHaveLength(50);
  expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...late)).toBeLessThanOrEqual(1_000);
});

test("most of a long wait is slept and not turned", async () => {
  const clock = new FakeClock(0);
  await pace([1_000_000], clock, () => true);
  expect(clock.turns).toBeLessThan(200);
});

test("a stall makes nothing start later than it must: the overdue start at once, and say by how much they are late", async () => {
  const clock = new FakeClock();
  const started: [number, number][] = [];
  await pace(every(1_000, 100), clock, (index, late) => {
    started.push([index, late]);
    if (index === 9) clock.micros += 50_000;
    return true;
  });
  expect(started.map(([index]) => index)).toEqual(every(1, 100).map((number) => number - 1));
  expect(started[10]?.[1]).toBeGreaterThanOrEqual(49_000);
  expect(started[99]?.[1]).toBeLessThanOrEqual(1_000);
});

test("answers are read between overdue starts", async () => {
  const clock = new FakeClock();
  clock.micros = 1_000_000;
  await pace(every(1, 160), clock, () => true);
  expect(clock.turns).toBeGreaterThanOrEqual(9);
});

test("the loop ends when it is told to", async () => {
  let starts = 0;
  await pace(every(10, 100), new FakeClock(), () => {
    starts += 1;
    return starts < 3;
  });
  expect(starts).toBe(3);
});

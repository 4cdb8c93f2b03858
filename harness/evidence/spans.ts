/** Spans of time in which something was at work, and what they touch. Found by sorting, never pair by pair. */
import type { Recorded } from "../history.ts";
import type { Micros } from "../operation.ts";

/** Both ends belong to it: at equal times of the clock the order is unknown. */
export interface Span {
  readonly from: Micros;
  readonly until: Micros;
}

/** Sorted, and apart from each other. Only such spans can be asked. */
export type Spans = readonly Span[];

export function spansOf(spans: readonly Span[]): Spans {
  const sorted = isSorted(spans) ? spans : [...spans].sort((one, other) => one.from - other.from);
  const apart: Span[] = [];
  for (const { from, until } of sorted) {
    const last = apart.at(-1);
    if (last === undefined || from > last.until) apart.push({ from, until });
    else if (until > last.until) apart[apart.length - 1] = { from: last.from, until };
  }
  return apart;
}

function isSorted(spans: readonly Span[]): boolean {
  return spans.every(({ from }, index) => index === 0 || from >= (spans[index - 1]?.from ?? from));
}

/** The last of the spans that touches the attempt's own, or null. */
export function lastTouching(
  spans: Spans,
  { invokedAt, completedAt }: Pick<Recorded, "invokedAt" | "completedAt">,
): Span | null {
  const last = spans[countUntil(spans, completedAt, ({ from }) => from) - 1];
  return last !== undefined && last.until >= invokedAt ? last : null;
}

/** How many of them, sorted by time, are not later than `at`. */
export function countUntil<Value>(sorted: readonly Value[], at: Micros, timeOf: (value: Value) => Micros): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const value = sorted[middle];
    if (value !== undefined && timeOf(value) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

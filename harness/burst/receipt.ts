/** The race receipt: what proves that the attempts of a burst were in flight together. */
import type { Gate, RaceReceipt } from "../event.ts";
import type { Headers, Micros, Outcome } from "../operation.ts";

/** One attempt of a burst, by the harness's clock. */
export interface Flight {
  readonly attemptId: string;
  /** Which attempts it races with: those of its key. */
  readonly race: string;
  readonly replica: number;
  readonly releasedAt: Micros;
  readonly completedAt: Micros;
  readonly outcome: Outcome;
}

/** Header names by which the target tells when a request arrived and when its answer left. */
export interface ArrivalHeaders {
  readonly header: string;
  readonly answered?: string | undefined;
}

interface Span {
  readonly race: string;
  readonly from: number;
  readonly until: number;
}

export function receiptOf(
  scenario: string,
  gate: Gate,
  flights: readonly Flight[],
  arrival: ArrivalHeaders | undefined,
): RaceReceipt {
  const released = flights.map(({ releasedAt }) => releasedAt);
  const told = arrival ? spansAtTarget(flights, arrival) : null;
  const spans =
    told ?? flights.map(({ race, releasedAt, completedAt }) => ({ race, from: releasedAt, until: completedAt }));
  const starts = told ? told.map(({ from }) => from) : released;
  return {
    scenario,
    attempts: flights.map(({ attemptId }) => attemptId),
    gate,
    releaseSpreadMicros: spread(released),
    arrivalSpreadMicros: told ? spread(starts) : null,
    closestMicros: closest(starts),
    inFlight: inFlightTogether(spans),
    measuredBy: told ? "target" : "client",
    replicas: [...new Set(flights.map(({ replica }) => replica))].sort((one, other) => one - other),
  };
}

/** The times the target told, or null unless it told them for at least two attempts. */
function spansAtTarget(flights: readonly Flight[], arrival: ArrivalHeaders): readonly Span[] | null {
  const spans = flights.flatMap(({ race, outcome, releasedAt, completedAt }): Span[] => {
    if (outcome.kind !== "responded") return [];
    const from = microsIn(outcome.headers, arrival.header);
    if (from === null) return [];
    const answered = arrival.answered === undefined ? null : microsIn(outcome.headers, arrival.answered);
    return [{ race, from, until: answered ?? from + (completedAt - releasedAt) }];
  });
  return spans.length >= 2 ? spans : null;
}

function microsIn(headers: Headers, name: string): number | null {
  const value = Number(headers[name.toLowerCase()] ?? Number.NaN);
  return Number.isFinite(value) ? value : null;
}

function spread(times: readonly number[]): number {
  return times.length === 0 ? 0 : Math.max(...times) - Math.min(...times);
}

/** The smallest distance of two neighbours: a window of that length was hit at least once. */
function closest(times: readonly number[]): number {
  const sorted = [...times].sort((one, other) => one - other);
  let smallest = Number.POSITIVE_INFINITY;
  for (let index = 1; index < sorted.length; index += 1) {
    smallest = Math.min(smallest, (sorted[index] ?? 0) - (sorted[index - 1] ?? 0));
  }
  return Number.isFinite(smallest) ? smallest : 0;
}

/**
 * The largest number of attempts in flight at one moment. Where several keys are raced, each of them must
 * have overlapped, so the fewest of any key count; where each key is sent once, all attempts together.
 */
function inFlightTogether(spans: readonly Span[]): number {
  const races = new Map<string, Span[]>();
  for (const span of spans) races.set(span.race, [...(races.get(span.race) ?? []), span]);
  const raced = [...races.values()].filter((some) => some.length > 1);
  return raced.length === 0 ? mostAtOnce(spans) : Math.min(...raced.map(mostAtOnce));
}

/** The largest number of spans that share a moment. One that ends as another begins does not overlap it. */
function mostAtOnce(spans: readonly Omit<Span, "race">[]): number {
  const changes = spans.flatMap(({ from, until }) => [
    { at: from, by: 1 },
    { at: until, by: -1 },
  ]);
  changes.sort((one, other) => one.at - other.at || one.by - other.by);
  let now = 0;
  let most = 0;
  for (const { by } of changes) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}

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

/**
 * Replicas whose clocks differ by more are on hosts of their own, or one's clock is wrong: each is then brought to
 * our clock. Below that what seems to be a difference is how long a request waited.
 */
const ONE_CLOCK_MICROS = 60_000_000;

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
  return {
    scenario,
    attempts: flights.map(({ attemptId }) => attemptId),
    gate,
    releaseSpreadMicros: spread(released),
    arrivalSpreadMicros: told ? spread(told.map(({ from }) => from)) : null,
    closestMicros: closestIn(racesOf(spans)),
    // Each key that was raced must have overlapped, so the fewest of any of them counts.
    inFlight: Math.min(...racesOf(spans).map(mostAtOnce)),
    measuredBy: told ? "target" : "client",
    replicas: [...new Set(flights.map(({ replica }) => replica))].sort((one, other) => one - other),
  };
}

interface Arrival {
  readonly flight: Flight;
  readonly from: number;
  readonly answered: number | null;
}

/** The times the target told. Null when it did not tell them for at least two attempts of every raced key. */
function spansAtTarget(flights: readonly Flight[], names: ArrivalHeaders): readonly Span[] | null {
  const arrivals = flights.flatMap((flight) => arrivalOf(flight, names));
  const clocks = clocksOf(arrivals);
  const isOneClock = spread([...clocks.values()]) < ONE_CLOCK_MICROS;
  const spans = arrivals.map(({ flight, from, answered }): Span => {
    const ahead = clocks.get(flight.replica) ?? 0;
    const until = answered ?? flight.completedAt + ahead;
    const shift = isOneClock ? 0 : ahead;
    return { race: flight.race, from: from - shift, until: Math.max(from, until) - shift };
  });
  // A key that is not told twice would drop out of the receipt, and the rest would speak for it.
  const isEachTold = racesOf(flights).every((race) => {
    const names = new Set(race.map((flight) => flight.race));
    return spans.filter((span) => names.has(span.race)).length >= 2;
  });
  return isEachTold && spans.length >= 2 ? spans : null;
}

function arrivalOf(flight: Flight, names: ArrivalHeaders): readonly Arrival[] {
  if (flight.outcome.kind !== "responded") return [];
  const from = microsIn(flight.outcome.headers, names.header);
  if (from === null) return [];
  const answered = names.answered === undefined ? null : microsIn(flight.outcome.headers, names.answered);
  return [{ flight, from, answered: answered !== null && answered >= from ? answered : null }];
}

function microsIn(headers: Headers, name: string): number | null {
  const text = headers[name.toLowerCase()] ?? "";
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : null;
}

/**
 * By how much each replica's clock is ahead of ours, at most: the fastest request bounds it. With it, the end
 * of an answer by our clock is an end by the target's. The time a client waited would not do: where requests
 * queue at the target it includes the queue, and ones that ran one after another would seem to overlap.
 */
function clocksOf(arrivals: readonly Arrival[]): ReadonlyMap<number, number> {
  const clocks = new Map<number, number>();
  for (const { flight, from } of arrivals) {
    const ahead = from - flight.releasedAt;
    clocks.set(flight.replica, Math.min(clocks.get(flight.replica) ?? ahead, ahead));
  }
  return clocks;
}

/** What raced together: the keys that were sent more than once; where there is none, all attempts. */
function racesOf<Racer extends { readonly race: string }>(racers: readonly Racer[]): readonly (readonly Racer[])[] {
  const races = new Map<string, Racer[]>();
  for (const racer of racers) {
    const known = races.get(racer.race);
    if (known) known.push(racer);
    else races.set(racer.race, [racer]);
  }
  const raced = [...races.values()].filter((race) => race.length > 1);
  return raced.length === 0 ? [racers] : raced;
}

function spread(times: readonly number[]): number {
  return times.length === 0 ? 0 : Math.max(...times) - Math.min(...times);
}

/** The smallest distance of two neighbours in one race: a window of that length was hit at least once. */
function closestIn(races: readonly (readonly Span[])[]): number {
  let smallest = Number.POSITIVE_INFINITY;
  for (const race of races) {
    const starts = race.map(({ from }) => from).sort((one, other) => one - other);
    for (let index = 1; index < starts.length; index += 1) {
      smallest = Math.min(smallest, (starts[index] ?? 0) - (starts[index - 1] ?? 0));
    }
  }
  return Number.isFinite(smallest) ? smallest : 0;
}

/** The largest number of spans that share a moment. One that ends as another begins does not overlap it. */
function mostAtOnce(spans: readonly Span[]): number {
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

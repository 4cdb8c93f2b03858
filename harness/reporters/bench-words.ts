/** Figures of a bench in words, the same in the terminal and in Markdown. */
import {
  type BenchReport,
  type BenchTarget,
  type ClassReport,
  COSTS,
  type Cost,
  type Estimated,
  type Quantile,
} from "../bench/bench-report.ts";

export const SHOWN_QUANTILES: readonly Quantile[] = ["p50", "p90", "p99", "p99.9"];
export const COST_NAMES: Readonly<Record<Cost, string>> = {
  statements: "statements",
  "round-trips": "round trips",
  commits: "commits",
  "wal-bytes": "WAL bytes",
  "row-bytes": "row bytes",
  "index-bytes": "index bytes",
  "dead-rows": "dead rows left",
  "redis-commands": "Redis commands",
};
export const NOTHING = "–";

export function millis(micros: number): string {
  const value = micros / 1000;
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
}

export function signed(micros: number): string {
  return `${micros < 0 ? "−" : "+"}${millis(Math.abs(micros))}`;
}

export function countOf(number: number): string {
  return number.toLocaleString("en-US");
}

export function absoluteText(report: ClassReport, quantile: Quantile): string {
  const found = report.figures.find((one) => one.quantile === quantile);
  return found === undefined ? NOTHING : millis(found.absolute.value);
}

export function differenceText(report: ClassReport, quantile: Quantile): string {
  const found = report.figures.find((one) => one.quantile === quantile)?.difference;
  return found ? `${signed(found.value)} [${signed(found.low)}, ${signed(found.high)}]` : NOTHING;
}

export function ratioText(report: ClassReport, quantile: Quantile): string {
  const found = report.figures.find((one) => one.quantile === quantile)?.ratio;
  return found ? `${times(found)} [${found.low.toFixed(2)}, ${found.high.toFixed(2)}]` : NOTHING;
}

function times({ value }: Estimated): string {
  return `×${value.toFixed(2)}`;
}

/** What one request costs, and how much that is more than what it is compared with. */
export function costText({ costs, costsOfReference }: ClassReport, cost: Cost): string {
  const value = costs?.[cost];
  if (value === undefined) return NOTHING;
  const base = costsOfReference?.[cost];
  const text = (number: number): string => countOf(Math.round(number * 100) / 100);
  if (base === undefined) return text(value);
  const more = value - base;
  return `${text(value)} (${more < 0 ? "−" : "+"}${text(Math.abs(more))})`;
}

/** What was sent and is in none of the figures. */
export function asideText({ strayed, unanswered, impossible }: ClassReport): string {
  return [
    ...(strayed > 0 ? [`${countOf(strayed)} answered otherwise`] : []),
    ...(unanswered > 0 ? [`${countOf(unanswered)} without an answer`] : []),
    ...(impossible > 0 ? [`${countOf(impossible)} not sent: no key was there`] : []),
  ].join(", ");
}

export function loadText({ load, seed }: BenchReport): string {
  return `${load.rate} requests a second for ${load.durationMs / 1000} s, ${load.pace} gaps, ${load.blocks} blocks, seed ${seed}`;
}

export function generatorText({ generator: { started, lateMicros, mostInFlight } }: BenchReport): string {
  return `${countOf(started)} starts, late by ${millis(lateMicros.p50)} ms (p50), ${millis(lateMicros.p99)} ms (p99), ${millis(lateMicros.max)} ms (max); at most ${countOf(mostInFlight)} in flight`;
}

export function machineText({ machine }: BenchReport): string {
  const { processors, model, memoryBytes, system, node } = machine;
  return `${processors} × ${model}, ${Math.round(memoryBytes / 2 ** 30)} GiB, ${system}, Node ${node}`;
}

export function againText(holdsZero: boolean): string {
  return holdsZero
    ? "A/A: the interval at p50 holds zero, as it must"
    : "A/A: the interval at p50 does not hold zero, and it is the same way twice";
}

export function measuredIn(classes: readonly ClassReport[]): readonly ClassReport[] {
  return classes.filter(({ left }) => left === null);
}

/** Those of which it is known what a request costs. */
export function countedIn({ classes }: BenchTarget): readonly ClassReport[] {
  return measuredIn(classes).filter(({ costs }) => costs !== null);
}

/** What was counted of any class: not every target has every store. */
export function costsIn(target: BenchTarget): readonly Cost[] {
  return COSTS.filter((cost) => countedIn(target).some(({ costs }) => costs?.[cost] !== undefined));
}

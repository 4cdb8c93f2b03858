/**
 * `--threshold 'first-use.p99.difference < 5ms'`: a limit that a build holds its key layer to. It is missed when
 * the whole interval is beyond it and met when the whole interval is within it; in between nobody can tell.
 */
import { Failure } from "../fail.ts";
import { nearestName } from "../target-file/nearest-name.ts";
import { BENCH_CLASSES, type BenchClass } from "./bench-class.ts";
import {
  type BenchTarget,
  type ClassReport,
  COSTS,
  type Cost,
  type Estimated,
  QUANTILES,
  type Quantile,
  SAMPLES_MIN,
  type ThresholdResult,
} from "./bench-report.ts";

const KINDS = ["absolute", "difference", "ratio"] as const;
type Kind = (typeof KINDS)[number];
type Figure = Quantile | "max" | Cost;
const FIGURES: readonly Figure[] = [...QUANTILES, "max", ...COSTS];

/** In microseconds. */
const UNITS: Readonly<Record<string, number>> = { us: 1, µs: 1, ms: 1_000, s: 1_000_000 };

export interface Threshold {
  readonly text: string;
  readonly class: BenchClass;
  readonly figure: Figure;
  readonly kind: Kind;
  readonly isInclusive: boolean;
  /** Microseconds, or a number without a unit. */
  readonly limit: number;
}

const FORM =
  "<class>.<figure>[.absolute|.difference|.ratio] < <number>[unit], such as 'first-use.p99.difference < 5ms'";

/** Throws a `usage` failure that says what is known. */
export function thresholdOf(text: string): Threshold {
  const [, name, sign, digits, unit = ""] =
    /^\s*([a-z0-9.-]+)\s*(<=?)\s*(\d+(?:\.\d+)?)\s*([a-zµ]*)\s*$/i.exec(text) ?? [];
  if (name === undefined || digits === undefined) throw broken(text, `expected ${FORM}`);
  const [className = "", ...rest] = name.split(".");
  const last = rest.at(-1) ?? "";
  const hasKind = (KINDS as readonly string[]).includes(last);
  const figureName = (hasKind ? rest.slice(0, -1) : rest).join(".");
  const known = { class: oneOf(text, "class", className, BENCH_CLASSES), figure: figureOf(text, figureName) };
  const kind = hasKind ? (last as Kind) : "absolute";
  if (known.figure === "max" && kind !== "absolute") {
    throw broken(text, "found max with a difference or ratio, expected max alone: one request has no interval");
  }
  const scale = scaleOf(text, known.figure, kind, unit);
  return { text, ...known, kind, isInclusive: sign === "<=", limit: Number(digits) * scale };
}

function figureOf(text: string, name: string): Figure {
  const isKind = /\.[a-z]+$/.test(name) && FIGURES.some((figure) => name.startsWith(`${figure}.`));
  if (isKind) oneOf(text, "comparison", name.slice(name.lastIndexOf(".") + 1), KINDS);
  return oneOf(text, "figure", name, FIGURES);
}

function scaleOf(text: string, figure: Figure, kind: Kind, unit: string): number {
  const isTime = !(COSTS as readonly string[]).includes(figure) && kind !== "ratio";
  if (!isTime) {
    if (unit === "") return 1;
    throw broken(text, `found the unit ${unit}, expected a number without one`);
  }
  const scale = UNITS[unit];
  if (scale === undefined)
    throw broken(text, `found ${unit === "" ? "no unit" : `the unit ${unit}`}, expected us, ms or s`);
  return scale;
}

function oneOf<Name extends string>(text: string, what: string, name: string, known: readonly Name[]): Name {
  const found = known.find((one) => one === name);
  if (found !== undefined) return found;
  const near = nearestName(name, known);
  const question = near === undefined ? "" : `; did you mean ${near}?`;
  throw broken(
    text,
    `${`found ${name === "" ? "no" : `the unknown`} ${what} ${name}`.trimEnd()}, expected one of ${known.join(", ")}${question}`,
  );
}

function broken(text: string, words: string): Failure {
  return new Failure("usage", `--threshold ${JSON.stringify(text)}: ${words}`);
}

export function judgeThreshold(threshold: Threshold, { target, classes }: BenchTarget): ThresholdResult {
  const { text, limit, isInclusive } = threshold;
  const measured = classes.find((one) => one.class === threshold.class);
  const found = measured === undefined ? `${threshold.class} is not measured` : estimateFor(threshold, measured);
  if (typeof found === "string") return { text, target, result: "unknown", reason: found };
  const isBelow = (value: number): boolean => (isInclusive ? value <= limit : value < limit);
  const result = isBelow(found.high) ? "met" : isBelow(found.low) ? "unknown" : "missed";
  const value = `${inWords(threshold, found.value)}, 95 % interval ${inWords(threshold, found.low)} to ${inWords(threshold, found.high)}`;
  const words = {
    met: "is within the limit",
    missed: "is beyond the limit",
    unknown: "holds the limit: more requests would tell",
  };
  return { text, target, result, reason: `${value}, ${words[result]}` };
}

/** The figure, or why there is none. */
function estimateFor({ figure, kind }: Threshold, measured: ClassReport): Estimated | string {
  if (measured.left !== null) return `${measured.class}: ${measured.left}`;
  if (isCost(figure)) return costFor(figure, kind, measured);
  if (measured.samples === 0) return `${measured.class} has no sample`;
  if (figure === "max") {
    const value = measured.maxMicros;
    return value === null ? `${measured.class} has no sample` : exactly(value);
  }
  const found = measured.figures.find(({ quantile }) => quantile === figure);
  if (found === undefined) {
    return `${figure} of ${measured.samples} sample(s) is not told: it takes ${SAMPLES_MIN[figure]}`;
  }
  return found[kind] ?? `${measured.class} has nothing to be compared with at ${figure}`;
}

function isCost(figure: Figure): figure is Cost {
  return (COSTS as readonly string[]).includes(figure);
}

function costFor(cost: Cost, kind: Kind, measured: ClassReport): Estimated | string {
  const value = measured.costs?.[cost];
  if (value === undefined) return `${cost} of ${measured.class} were not measured`;
  if (kind === "absolute") return exactly(value);
  const base = measured.costsOfReference?.[cost];
  if (base === undefined)
    return `${measured.class} has nothing to be compared with: ${cost} of a baseline were not measured`;
  if (kind === "ratio" && base === 0) return `${cost} of what it is compared with are none, and have no ratio`;
  return exactly(kind === "difference" ? value - base : value / base);
}

function exactly(value: number): Estimated {
  return { value, low: value, high: value };
}

function inWords({ figure, kind }: Threshold, value: number): string {
  if (isCost(figure) || kind === "ratio") return String(Math.round(value * 1000) / 1000);
  return `${(value / 1000).toFixed(3)} ms`;
}

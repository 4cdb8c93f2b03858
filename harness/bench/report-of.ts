/** From what was measured and judged to the report: figures with their intervals, thresholds, and one result. */
import { cpus, release, totalmem, type } from "node:os";
import { encodeIntoCompressedBase64 } from "hdr-histogram-js";
import type { Judgement } from "../judge.ts";
import { randomOf } from "../random.ts";
import { BENCH_CLASSES, type BenchClass } from "./bench-class.ts";
import {
  type BenchReport,
  type BenchTarget,
  type ClassReport,
  QUANTILES,
  type Quantile,
  SAMPLES_MIN,
  SHARES,
  type ThresholdResult,
} from "./bench-report.ts";
import type { CleanupReport } from "./cleanup-report.ts";
import type { Contender } from "./contender.ts";
import type { Costs } from "./costs.ts";
import type { Generated } from "./generator.ts";
import type { ClassMeasurement, Measurements } from "./measurements.ts";
import { projectionOf } from "./projection.ts";
import type { Load } from "./schedule.ts";
import { compare, type Sample } from "./statistics.ts";
import type { MeasuredStorage } from "./storage.ts";
import type { Projection, Volume } from "./storage-report.ts";
import { judgeThreshold, type Threshold } from "./threshold.ts";

export interface Measured {
  readonly contender: Contender;
  readonly measurements: Measurements;
  readonly costs: ReadonlyMap<BenchClass, Costs>;
  readonly costsNote: string | null;
  /** Or why there is none. */
  readonly storage: MeasuredStorage | string;
  /** Null: nobody asked. */
  readonly cleanup: CleanupReport | string | null;
  readonly history: string;
  readonly judgement: Judgement;
}

export interface ReportOptions {
  readonly load: Load;
  readonly volume: Volume;
  readonly thresholds: readonly Threshold[];
  readonly lateMicrosMax: number;
  readonly version: string;
  readonly command: string;
  readonly startedAt: Date;
  readonly durationMs: number;
}

/** Shares of the percentile curve, as far as ten requests are beyond them. */
const CURVE = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99, 0.995];
const CURVE_TAIL = [0.9975, 0.999, 0.9995, 0.9999, 0.99995, 0.99999];
const BEYOND_MIN = 10;
/** More of a class than this, answered otherwise than it is about, and it is not what it says. */
const STRAYED_SHARE_MAX = 0.1;

export function benchReportOf(
  measured: readonly Measured[],
  generated: Generated | null,
  blocks: number,
  options: ReportOptions,
): BenchReport {
  const { load, volume, thresholds, version, command, startedAt, durationMs, lateMicrosMax } = options;
  const targets = measured.map((one) => targetOf(one, blocks, options));
  const results = thresholds.flatMap((threshold) => targets.map((target) => judgeThreshold(threshold, target)));
  const { p50 = 0, p99 = 0, max = 0 } = generated?.lateness ?? {};
  return {
    format: 1,
    ...resultOf(targets, results, generated, options),
    version,
    command,
    startedAt: startedAt.toISOString(),
    durationMs,
    seed: load.seed,
    load: { rate: load.rate, durationMs: load.durationMs, pace: load.pace, blocks },
    machine: {
      processors: cpus().length,
      model: cpus()[0]?.model ?? "unknown",
      memoryBytes: totalmem(),
      system: `${type()} ${release()}`,
      node: process.version,
    },
    generator: {
      started: generated?.started ?? 0,
      notStarted: generated?.notStarted ?? 0,
      mostInFlight: generated?.mostInFlight ?? 0,
      lateMicros: { p50, p99, max },
      lateMicrosMax,
    },
    volume,
    targets,
    thresholds: results,
  };
}

/** A violation whatever the latency; then what makes the figures worth nothing; then what they show. */
function resultOf(
  targets: readonly BenchTarget[],
  thresholds: readonly ThresholdResult[],
  generated: Generated | null,
  options: ReportOptions,
): Pick<BenchReport, "result" | "reasons"> {
  const violated = targets.filter(({ verdict }) => verdict === "fail");
  if (violated.length > 0) {
    const reasons = violated.flatMap(({ target, violations }) =>
      violations.map(({ invariant, count }) => `${target} violates ${invariant} (${count})`),
    );
    return { result: "fail", reasons };
  }
  const doubts = [
    ...generatorDoubts(generated, options),
    ...targets.flatMap((target) => [...targetDoubts(target), ...cleanupDoubts(target, options)]),
  ];
  if (doubts.length > 0) return { result: "inconclusive", reasons: doubts };
  const told = (result: ThresholdResult["result"]): string[] =>
    thresholds
      .filter((one) => one.result === result)
      .map(({ text, target, reason }) => `${text} (${target}): ${reason}`);
  const missed = told("missed");
  if (missed.length > 0) return { result: "missed", reasons: missed };
  const unknown = told("unknown");
  return unknown.length > 0 ? { result: "inconclusive", reasons: unknown } : { result: "pass", reasons: [] };
}

function generatorDoubts(generated: Generated | null, { load, lateMicrosMax }: ReportOptions): string[] {
  if (generated === null) return ["no load was generated"];
  const { lateness, notStarted, isOverrun, mostInFlight, inFlightHalfway, inFlightAtEnd } = generated;
  const doubts: string[] = [];
  if (lateness.p99 > lateMicrosMax) {
    doubts.push(
      `the generator itself was late: one start in a hundred by more than ${millis(lateness.p99)}, and ${millis(lateMicrosMax)} is allowed; this machine does not reach ${load.rate} requests a second, or is busy with other things: ask for a lower --rate`,
    );
  }
  if (isOverrun) {
    doubts.push(
      `${notStarted} request(s) were never started: ${mostInFlight} were in flight, and the target did not keep up with ${load.rate} requests a second: ask for a lower --rate`,
    );
  } else if (notStarted === 0 && inFlightAtEnd > Math.max(inFlightHalfway * GROWTH_MAX, IN_FLIGHT_AT_END_MIN)) {
    doubts.push(
      `${inFlightAtEnd} requests were in flight at the end, and ${inFlightHalfway} halfway: the target did not keep up with ${load.rate} requests a second, and its figures tell how long the bench was: ask for a lower --rate`,
    );
  }
  return doubts;
}

/** So many are in flight at a slow moment, too. */
const IN_FLIGHT_AT_END_MIN = 50;
/** From the middle of the load to its end; what falls behind doubles, what keeps up stays as it is. */
const GROWTH_MAX = 1.5;

function targetDoubts({ target, verdict, reasons, againHoldsZero, classes }: BenchTarget): string[] {
  return [
    ...(verdict === "pass" ? [] : reasons.map((reason) => `${target}: ${reason}`)),
    ...(verdict !== "pass" && reasons.length === 0 ? [`${target}: nothing was judged`] : []),
    ...(againHoldsZero === false
      ? [
          `${target}: A/A differs from itself at p50, so that the other differences are not to be trusted: run it again, longer`,
        ]
      : []),
    ...classes.flatMap(({ class: name, left, samples, strayed }) =>
      left === null && strayed > samples * STRAYED_SHARE_MAX
        ? [`${target}: ${strayed} of ${samples + strayed} answers to ${name} were not what the class is about`]
        : [],
    ),
  ];
}

function cleanupDoubts({ target, cleanup }: BenchTarget, { lateMicrosMax }: ReportOptions): string[] {
  if (cleanup === null) return [];
  const { lateMicros, isOverrun, rate } = cleanup;
  return [
    ...(lateMicros > lateMicrosMax
      ? [
          `${target}: while records were cleaned up the generator itself was late: one start in a hundred by more than ${millis(lateMicros)}, and ${millis(lateMicrosMax)} is allowed: ask for a lower --rate`,
        ]
      : []),
    ...(isOverrun
      ? [
          `${target}: while records were cleaned up it did not keep up with ${rate} requests a second: ask for a lower --rate`,
        ]
      : []),
  ];
}

function targetOf(measured: Measured, blocks: number, { load: { seed }, volume }: ReportOptions): BenchTarget {
  const { contender, judgement, costsNote, storage, cleanup, history } = measured;
  const classes = BENCH_CLASSES.map((name) => classOf(name, measured, blocks, seed));
  const again = classes.find((one) => one.class === "again")?.figures.find(({ quantile }) => quantile === "p50");
  const { difference = null } = again ?? {};
  return {
    target: contender.target.file.name,
    operation: contender.operation,
    contract: contender.target.contract.id,
    comparedWith: contender.comparedWith,
    verdict: judgement.result,
    reasons: [...judgement.reasons, ...judgement.scenarios.flatMap(({ reasons }) => reasons)],
    violations: judgement.invariants
      .filter(({ result, level }) => result === "fail" && level === "must")
      .map(({ invariant, violations }) => ({
        invariant: invariant.id,
        count: violations.length,
        message: violations[0]?.violation.message ?? "",
      })),
    attempts: judgement.history.attempts,
    history,
    againHoldsZero: difference === null ? null : difference.low <= 0 && difference.high >= 0,
    classes,
    costsNote,
    storage: typeof storage === "string" ? null : { ...storage, projections: projectionsOf(storage, volume) },
    storageNote: typeof storage === "string" ? storage : null,
    cleanup: typeof cleanup === "string" ? null : cleanup,
    cleanupNote: typeof cleanup === "string" ? cleanup : null,
  };
}

function projectionsOf({ sizes, cycle }: MeasuredStorage, volume: Volume): Projection[] {
  return sizes.map((size) => projectionOf(size, cycle, volume));
}

function classOf(name: BenchClass, measured: Measured, blocks: number, seed: number): ClassReport {
  const { contender, measurements, costs } = measured;
  const measurement = measurements.get(name);
  const { comparedWith } = contender;
  const reference = name === comparedWith ? null : (measurements.get(comparedWith) ?? null);
  const { values = [], strayed = 0, unanswered = 0, impossible = 0, histogram = null } = measurement ?? {};
  return {
    class: name,
    left: contender.left[name] ?? null,
    samples: values.length,
    strayed,
    unanswered,
    impossible,
    figures: measurement === undefined ? [] : figuresOf(measurement, reference, blocks, seed),
    maxMicros: values.length === 0 ? null : values.reduce((most, value) => Math.max(most, value), 0),
    curve: measurement === undefined ? [] : curveOf(measurement),
    histogram: values.length === 0 || histogram === null ? null : encodeIntoCompressedBase64(histogram),
    costs: costs.get(name) ?? null,
    costsOfReference: reference === null ? null : (costs.get(comparedWith) ?? null),
  };
}

function figuresOf(
  measurement: ClassMeasurement,
  reference: Sample | null,
  blocks: number,
  seed: number,
): ClassReport["figures"] {
  const enough = (quantile: Quantile, { values }: Sample): boolean => values.length >= SAMPLES_MIN[quantile];
  const told = QUANTILES.filter((quantile) => enough(quantile, measurement));
  if (told.length === 0) return [];
  const other = reference !== null && reference.values.length > 0 ? reference : null;
  const shares = told.map((quantile) => SHARES[quantile]);
  const compared = compare(measurement, other, shares, { blocks, random: randomOf(seed).fork("bootstrap") });
  return told.map((quantile, index) => {
    const found = compared[index];
    if (found === undefined) throw new Error("each quantile was asked for");
    const isComparable = other !== null && enough(quantile, other);
    return {
      quantile,
      absolute: found.absolute,
      difference: isComparable ? found.difference : null,
      ratio: isComparable ? found.ratio : null,
    };
  });
}

function curveOf({ values, histogram }: ClassMeasurement): [number, number][] {
  if (values.length === 0) return [];
  return [...CURVE, ...CURVE_TAIL]
    .filter((share) => share <= 0.5 || values.length * (1 - share) >= BEYOND_MIN)
    .map((share) => [share, histogram.getValueAtPercentile(share * 100)]);
}

function millis(micros: number): string {
  return `${(micros / 1000).toFixed(1)} ms`;
}

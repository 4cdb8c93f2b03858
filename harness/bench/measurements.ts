/** What a bench measured: the latencies of each class of each target by block, and how late it was itself. */
import { build, type Histogram } from "hdr-histogram-js";
import type { Micros } from "../operation.ts";
import type { BenchClass } from "./bench-class.ts";
import type { Sample } from "./statistics.ts";

/** No answer is waited for longer than this (--timeout). */
const LATENCY_MICROS_MAX = 600_000_000;

export interface ClassMeasurement extends Sample {
  readonly values: number[];
  readonly blocks: number[];
  readonly histogram: Histogram;
  /** Answered otherwise than the class is about, such as a conflict that came too late and was replayed. */
  strayed: number;
  /** Without any answer. Those that waited in vain are counted by how long they did. */
  unanswered: number;
  /** No key was there that it could have used. */
  impossible: number;
}

export function newMeasurement(): ClassMeasurement {
  return { values: [], blocks: [], histogram: newHistogram(), strayed: 0, unanswered: 0, impossible: 0 };
}

/** Microseconds, to a thousandth of their value. */
export function newHistogram(): Histogram {
  return build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: LATENCY_MICROS_MAX,
    numberOfSignificantValueDigits: 3,
    bitBucketSize: 32,
    useWebAssembly: false,
  });
}

export function measure(measurement: ClassMeasurement, block: number, latency: Micros): void {
  measurement.values.push(latency);
  measurement.blocks.push(block);
  measurement.histogram.recordValue(Math.min(Math.max(1, Math.round(latency)), LATENCY_MICROS_MAX));
}

export type Measurements = ReadonlyMap<BenchClass, ClassMeasurement>;

/**
 * When each request of a bench is meant to start, and of which class it is. A block holds every class of every
 * target equally often, in random order: what a slow moment of the machine does, it does to all of them, and
 * blocks are what the statistics resample. The same seed gives the same schedule.
 */
import { Failure } from "../fail.ts";
import type { Micros } from "../operation.ts";
import { type Random, randomOf } from "../random.ts";
import type { BenchClass } from "./bench-class.ts";

/** One class of one target. */
export interface Treatment {
  readonly target: number;
  readonly class: BenchClass;
}

export interface Slot extends Treatment {
  /** Since the start of the load. */
  readonly at: Micros;
  /** -1: warms up, and is not counted. */
  readonly block: number;
}

export const PACES = ["exponential", "constant"] as const;
export type Pace = (typeof PACES)[number];

export interface Load {
  /** Requests in a second, of all targets together. */
  readonly rate: number;
  readonly durationMs: number;
  readonly pace: Pace;
  readonly seed: number;
}

/** Fewer blocks than this say little of how much the figures vary. */
const BLOCKS_MIN = 10;
const BLOCK_MS = 1_000;
/** Compiles client and target, opens connections, fills caches. */
const WARM_SHARE = 0.1;

export function scheduleOf(treatments: readonly Treatment[], load: Load): readonly Slot[] {
  const total = Math.floor((load.rate * load.durationMs) / 1000);
  const wanted = Math.max(BLOCKS_MIN, Math.floor(load.durationMs / BLOCK_MS));
  const repeats = Math.max(1, Math.floor(total / (treatments.length * wanted)));
  const blocks = Math.floor(total / (treatments.length * repeats));
  if (blocks < BLOCKS_MIN) {
    throw new Failure(
      "usage",
      `--rate and --duration: found ${total} request(s) in all, expected at least ${treatments.length * BLOCKS_MIN}: ${BLOCKS_MIN} blocks of ${treatments.length} classes`,
    );
  }
  const random = randomOf(load.seed);
  const gaps = gapsOf(load, random.fork("gaps"));
  const order = random.fork("order");
  const warmUps = Math.ceil(blocks * WARM_SHARE);
  const slots: Slot[] = [];
  let at = 0;
  for (let block = -warmUps; block < blocks; block += 1) {
    for (const treatment of shuffled(repeated(treatments, repeats), order)) {
      at += gaps();
      slots.push({ ...treatment, at: Math.round(at), block: Math.max(-1, block) });
    }
  }
  return slots;
}

/** How many counted blocks a schedule has. */
export function blocksIn(slots: readonly Slot[]): number {
  return (slots.at(-1)?.block ?? -1) + 1;
}

/** Microseconds from one start to the next. Requests of independent clients come at exponential distances. */
function gapsOf({ rate, pace }: Load, random: Random): () => number {
  const mean = 1_000_000 / rate;
  switch (pace) {
    case "constant":
      return () => mean;
    case "exponential":
      return () => -Math.log(1 - random.next()) * mean;
  }
}

function repeated<Value>(values: readonly Value[], times: number): Value[] {
  return Array.from({ length: times }, () => values).flat();
}

/** Fisher and Yates. */
function shuffled<Value>(values: Value[], random: Random): readonly Value[] {
  for (let index = values.length - 1; index > 0; index -= 1) {
    const other = random.below(index + 1);
    [values[index], values[other]] = [values[other] as Value, values[index] as Value];
  }
  return values;
}

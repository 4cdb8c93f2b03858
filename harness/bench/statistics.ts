/**
 * Quantiles, and how sure they are: intervals by the bootstrap over blocks. Requests of one moment share its
 * luck, so that blocks are drawn and not requests; both sides of a difference draw the same blocks, so that what
 * a block did to both cancels out.
 */
import type { Random } from "../random.ts";

/** Latencies of one class. `values[i]` was measured in block `blocks[i]`. */
export interface Sample {
  readonly values: readonly number[];
  readonly blocks: readonly number[];
}

/** A figure with its 95 % interval. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

export interface Compared {
  readonly absolute: Estimate;
  /** Null where there is nothing to compare with. */
  readonly difference: Estimate | null;
  readonly ratio: Estimate | null;
}

export interface BootstrapOptions {
  readonly blocks: number;
  readonly random: Random;
  readonly resamples?: number;
}

const RESAMPLES = 1_000;
const TAIL = 0.025;

/** The smallest value that this share of all does not exceed. `sorted` must not be empty. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  const rank = Math.max(1, Math.ceil(share * sorted.length - 1e-9));
  return sorted[Math.min(rank, sorted.length) - 1] ?? Number.NaN;
}

/** The one in the middle, of two the larger; 0 where there is none. */
export function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}

/** The quantiles `shares` (ascending) of a sample, next to those of another one. Neither sample may be empty. */
export function compare(
  sample: Sample,
  reference: Sample | null,
  shares: readonly number[],
  { blocks, random, resamples = RESAMPLES }: BootstrapOptions,
): readonly Compared[] {
  const one = ordered(sample);
  const other = reference === null ? null : ordered(reference);
  const draws = shares.map(() => ({ absolute: [] as number[], difference: [] as number[], ratio: [] as number[] }));
  const weights = new Int32Array(blocks);
  for (let round = 0; round < resamples; round += 1) {
    drawBlocks(weights, random);
    const ours = weightedQuantiles(one, weights, shares);
    const theirs = other === null ? null : weightedQuantiles(other, weights, shares);
    // A draw may miss all blocks in which there was anything.
    if (ours === null || (other !== null && theirs === null)) continue;
    for (const [index, draw] of draws.entries()) {
      const value = ours[index] ?? Number.NaN;
      draw.absolute.push(value);
      if (theirs === null) continue;
      draw.difference.push(value - (theirs[index] ?? Number.NaN));
      draw.ratio.push(value / (theirs[index] ?? Number.NaN));
    }
  }
  return shares.map((share, index) => {
    const value = quantile(one.values, share);
    const base = other === null ? null : quantile(other.values, share);
    const draw = draws[index] ?? { absolute: [], difference: [], ratio: [] };
    return {
      absolute: estimate(value, draw.absolute),
      difference: base === null ? null : estimate(value - base, draw.difference),
      ratio: base === null ? null : estimate(value / base, draw.ratio),
    };
  });
}

/** Values in ascending order, each with its block. */
interface Ordered {
  readonly values: Float64Array;
  readonly blocks: Int32Array;
}

function ordered({ values, blocks }: Sample): Ordered {
  const order = Array.from(values.keys()).sort((one, other) => (values[one] ?? 0) - (values[other] ?? 0));
  return {
    values: Float64Array.from(order, (index) => values[index] ?? 0),
    blocks: Int32Array.from(order, (index) => blocks[index] ?? 0),
  };
}

/** As many blocks as there are, with replacement: how often each was drawn. */
function drawBlocks(weights: Int32Array, random: Random): void {
  weights.fill(0);
  for (let draw = 0; draw < weights.length; draw += 1) {
    const block = random.below(weights.length);
    weights[block] = (weights[block] ?? 0) + 1;
  }
}

/** Quantiles of the sample that has each value as often as its block was drawn; null when that is nothing. */
function weightedQuantiles({ values, blocks }: Ordered, weights: Int32Array, shares: readonly number[]) {
  let total = 0;
  for (let index = 0; index < blocks.length; index += 1) total += weights[blocks[index] ?? 0] ?? 0;
  if (total === 0) return null;
  const found: number[] = [];
  let seen = 0;
  for (let index = 0; index < values.length && found.length < shares.length; index += 1) {
    seen += weights[blocks[index] ?? 0] ?? 0;
    while (found.length < shares.length && seen >= Math.max(1, Math.ceil((shares[found.length] ?? 1) * total - 1e-9))) {
      found.push(values[index] ?? Number.NaN);
    }
  }
  return found;
}

function estimate(value: number, draws: number[]): Estimate {
  draws.sort((one, other) => one - other);
  return { value, low: quantile(draws, TAIL), high: quantile(draws, 1 - TAIL) };
}

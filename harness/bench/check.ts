/**
 * How long judging a long history takes beside a bare `JSON.parse` loop over the same file, in one run and turn by
 * turn, with a heap that is really limited; and whether one hot key costs more than many. `npm run bench:check`.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { type HistorySize, writeCheckHistory } from "./check-history.ts";
import { median } from "./statistics.ts";

/** What one process measured. */
export interface Measured {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly residentMiB: number;
  readonly attempts: number;
  readonly result: string;
  /** How many, by invariant. */
  readonly violations: Readonly<Record<string, number>>;
}

const ATTEMPTS_PER_KEY = 10;
const KEYS_PER_SCENARIO = 5_000;
const DOUBLED_EVERY = 5_000;
/** The judged process gets no more heap than this, young objects included, and dies if it needs more. */
const HEAP_MIB = 256;
/** Of the heap: three times this is the part for young objects. */
const SEMI_SPACE_MIB = 16;
const HOT_ATTEMPTS = 10_000;

const { values } = parseArgs({
  options: {
    attempts: { type: "string", default: "1000000" },
    rounds: { type: "string", default: "3" },
    seed: { type: "string", default: "1" },
  },
});
const attempts = Number(values.attempts);
const rounds = Number(values.rounds);
const seed = Number(values.seed);
const directory = mkdtempSync(join(tmpdir(), "idemproof-bench-"));
try {
  await hotKey();
  await longHistory();
} finally {
  rmSync(directory, { recursive: true });
}

/** One key with many overlapping attempts beside as many attempts with ten to a key. */
async function hotKey(): Promise<void> {
  const plain = { keysPerScenario: 1_000, doubledEvery: 0 };
  const hot = written("hot", { keys: 1, attemptsPerKey: HOT_ATTEMPTS, isOverlapping: true, ...plain });
  const cold = written("cold", { keys: HOT_ATTEMPTS / 10, attemptsPerKey: 10, isOverlapping: true, ...plain });
  const times = await inTurns([
    { way: "judged", path: hot },
    { way: "judged", path: cold },
  ]);
  const [one = 0, many = 0] = times.map(({ seconds }) => median(seconds));
  print(`one key with ${HOT_ATTEMPTS} overlapping attempts: ${one.toFixed(3)} s`);
  print(`${HOT_ATTEMPTS / 10} keys with ten: ${many.toFixed(3)} s (hot / cold: ${(one / many).toFixed(2)})`);
}

async function longHistory(): Promise<void> {
  const keys = Math.ceil(attempts / ATTEMPTS_PER_KEY);
  const doubled = Math.floor(keys / DOUBLED_EVERY);
  const path = written("long", {
    keys,
    attemptsPerKey: ATTEMPTS_PER_KEY,
    isOverlapping: false,
    keysPerScenario: KEYS_PER_SCENARIO,
    doubledEvery: DOUBLED_EVERY,
  });
  const [bare, judged] = await inTurns([
    { way: "bare", path },
    { way: "judged", path },
  ]);
  const last = judged?.last;
  if (bare === undefined || judged === undefined || last === undefined) throw new Error("nothing was measured");
  const expected = doubled === 0 ? {} : { "at-most-one-effect": doubled };
  if (JSON.stringify(last.violations) !== JSON.stringify(expected) || last.attempts !== bare.last?.attempts) {
    throw new Error(`found ${JSON.stringify(last)}, expected ${JSON.stringify(expected)}`);
  }
  const megabytes = Math.round(statSync(path).size / 1e6);
  print(`${last.attempts} attempts, ${megabytes} MB, seed ${seed}, ${rounds} round(s), heap at most ${HEAP_MIB} MiB`);
  for (const { way, seconds, last: one } of [bare, judged]) {
    const listed = seconds.map((each) => each.toFixed(2)).join(" ");
    print(
      `${way.padEnd(6)} ${listed} s, median ${median(seconds).toFixed(2)} s; last round: ${one?.cpuSeconds.toFixed(2)} s of cores, ${one?.residentMiB} MiB resident`,
    );
  }
  const ratios = judged.seconds.map((each, round) => each / (bare.seconds[round] ?? each));
  print(`verdict: ${last.result}, ${JSON.stringify(last.violations)}`);
  print(`ratio: ${median(ratios).toFixed(3)}`);
}

function written(name: string, size: HistorySize): string {
  const path = join(directory, `${name}.ndjson`);
  writeCheckHistory(path, size, seed);
  return path;
}

interface Way {
  readonly way: "bare" | "judged";
  readonly path: string;
}

interface Timed extends Way {
  readonly seconds: number[];
  last?: Measured;
}

/** All ways in each round, one after the other, so that a slow moment of the machine meets both. */
async function inTurns(ways: readonly Way[]): Promise<readonly Timed[]> {
  const timed = ways.map((way): Timed => ({ ...way, seconds: [] }));
  for (let round = 0; round < rounds; round += 1) {
    for (const one of timed) {
      one.last = await measured(one);
      one.seconds.push(one.last.seconds);
    }
  }
  return timed;
}

async function measured({ way, path }: Way): Promise<Measured> {
  const program = fileURLToPath(new URL("./check-process.js", import.meta.url));
  const heap = [`--max-semi-space-size=${SEMI_SPACE_MIB}`, `--max-old-space-size=${HEAP_MIB - 3 * SEMI_SPACE_MIB}`];
  const { stdout } = await promisify(execFile)(process.execPath, [...heap, program, way, path]);
  return JSON.parse(stdout) as Measured;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Options that several commands share, and how their values are read. */
import { randomInt } from "node:crypto";
import { relative, sep } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import type { RunSize } from "../plan-context.ts";

export interface SizeOptions {
  readonly seed?: number;
  readonly quick?: boolean;
  readonly rounds?: number;
  readonly concurrency?: number;
}

const ROUNDS = { usual: 50, quick: 8 };
const SAMPLES = { usual: 5, quick: 2 };
const CONCURRENCY = 50;
/** More sockets than this at once are a load test, and beyond many systems' limits of open files. */
const CONCURRENCY_MAX = 500;
const ROUNDS_MAX = 10_000;
export const SEED_MAX = 2 ** 31 - 1;

export function addSizeOptions(command: Command): Command {
  return command
    .option("--seed <number>", "the plans come from it (default: a new one, named in the report)", upTo(SEED_MAX, 0))
    .option("--quick", `${ROUNDS.quick} rounds instead of ${ROUNDS.usual}`)
    .option("--rounds <number>", `how often a race is repeated (default: ${ROUNDS.usual})`, upTo(ROUNDS_MAX))
    .option("--concurrency <number>", `the largest burst (default: ${CONCURRENCY})`, upTo(CONCURRENCY_MAX, 2));
}

/** `isWhole`: everything is to be played, not a choice of scenarios. */
export function sizeOf({ seed, quick, rounds, concurrency }: SizeOptions, isWhole = true): RunSize {
  const kind = quick ? "quick" : "usual";
  return {
    seed: seed ?? randomInt(SEED_MAX),
    rounds: rounds ?? ROUNDS[kind],
    samples: SAMPLES[kind],
    concurrency: concurrency ?? CONCURRENCY,
    takesTurns: quick === true && isWhole,
  };
}

/** The options again, for the line that repeats a run. The seed is added there. */
export function sizeArguments({ quick, rounds, concurrency }: SizeOptions): string[] {
  return [
    ...(quick ? ["--quick"] : []),
    ...(rounds === undefined ? [] : ["--rounds", String(rounds)]),
    ...(concurrency === undefined ? [] : ["--concurrency", String(concurrency)]),
  ];
}

export function upTo(most: number, least = 1): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isSafeInteger(value) || value < least || value > most) {
      throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
    }
    return value;
  };
}

export function several(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), ...value.split(",").filter((part) => part !== "")];
}

/** The same for values that may hold commas. */
export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

/** How this program was called, for lines that are to be pasted: by `npm start`, installed, or as a file. */
export function ownCommand(command: "run" | "replay" | "bench" = "run"): string {
  if (process.env["npm_lifecycle_event"] === "start") {
    return command === "run" ? "npm start --" : `npm run -s idemproof -- ${command}`;
  }
  const program = process.argv[1] ?? "";
  if (program.split(sep).includes("node_modules")) return `npx idemproof ${command}`;
  return `node ${shellWord(relative(process.cwd(), program))} ${command}`;
}

/** A word as a shell takes it. */
export function shellWord(text: string): string {
  return /^[\w./:@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

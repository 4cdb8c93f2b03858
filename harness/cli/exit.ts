/** Exit codes, and the last word on a command that did not get as far as a verdict. */
import { Failure, type FailureCode, messageOf } from "../fail.ts";
import type { Result } from "../invariant.ts";

export const exitCodes = {
  pass: 0,
  violated: 1,
  usage: 2,
  inconclusive: 3,
  /** Nothing was violated, and only a threshold was missed. */
  missed: 4,
  harness: 5,
  interrupted: 130,
} as const;

const BY_RESULT: Record<Result, number> = {
  pass: exitCodes.pass,
  fail: exitCodes.violated,
  inconclusive: exitCodes.inconclusive,
  skip: exitCodes.inconclusive,
};

const BY_FAILURE: Record<FailureCode, number> = {
  usage: exitCodes.usage,
  "not-ready": exitCodes.usage,
  unavailable: exitCodes.inconclusive,
  "target-lost": exitCodes.usage,
};

export function exitCodeOf(result: Result): number {
  return BY_RESULT[result];
}

/** Prints the error for its reader: no stack for what the user can put right, one for what we must. */
export function reportFailure(error: unknown): number {
  if (error instanceof Failure) {
    const prefix = error.code === "unavailable" ? "skipped: " : "";
    console.error(`idemproof: ${prefix}${error.message}`);
    return BY_FAILURE[error.code];
  }
  if (error instanceof Error && error.name === "AbortError") {
    console.error("idemproof: interrupted");
    return exitCodes.interrupted;
  }
  console.error(`idemproof: this is a bug of idemproof, please report it: ${messageOf(error)}`);
  if (error instanceof Error && error.stack) console.error(error.stack);
  return exitCodes.harness;
}

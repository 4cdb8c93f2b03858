/**
 * An invariant is one sentence that every history must satisfy, and the pure function that checks it. The
 * rules by which verdicts combine are here too, since they are what keeps a pass from being vacuous.
 */
import type { LEVELS } from "./contract.ts";
import type { GroundTruth, History, Recorded } from "./history.ts";

export type Level = (typeof LEVELS)[number];

export interface Invariant {
  readonly id: string;
  readonly level: Level;
  /** The sentence, as the requirement that a failure prints. */
  readonly statement: string;
  /** No clock, no chance, no I/O: the same history always gets the same verdict. */
  check(history: History): Verdict;
}

export interface Violation {
  /** One proof sentence that names the attempts. */
  readonly message: string;
  readonly expected: string;
  readonly actual: string;
  readonly key: string | null;
  /** Ids of the attempts that witness it: the fewest that prove it. */
  readonly attempts: readonly string[];
}

export type Verdict =
  | { readonly result: "pass"; readonly checked: number }
  | {
      readonly result: "fail";
      readonly checked: number;
      readonly violations: readonly [Violation, ...Violation[]];
    }
  | { readonly result: "inconclusive"; readonly reason: string }
  /** `excused`: by the user's own statement (no books named, the contract is silent) there is nothing to check. */
  | { readonly result: "skip"; readonly reason: string; readonly excused: boolean };

export type Result = Verdict["result"];

/** The fixed table: fail > inconclusive > pass > skip. No results at all are a skip. */
export function combine(results: readonly Result[]): Result {
  for (const result of ["fail", "inconclusive", "pass"] as const) if (results.includes(result)) return result;
  return "skip";
}

/** The verdict on `checked` samples. Nothing looked at is a skip, with `nothing` as its reason. */
export function verdictOf(checked: number, violations: readonly Violation[], nothing: string): Verdict {
  const [first, ...others] = violations;
  if (first) return { result: "fail", checked, violations: [first, ...others] };
  return checked > 0 ? { result: "pass", checked } : { result: "skip", reason: nothing, excused: false };
}

/** The contract is silent on this: observed by no one, failed by no one. */
export function undocumented(promise: string): Verdict {
  return { result: "skip", reason: `the contract leaves ${promise} undocumented`, excused: true };
}

/** There are no books to compare with: excused when the target has none, inconclusive when they were not read. */
export function withoutBooks(truth: Extract<GroundTruth<unknown>, { known: false }>): Verdict {
  return truth.absent
    ? { result: "skip", reason: truth.reason, excused: true }
    : { result: "inconclusive", reason: truth.reason };
}

/** A check that throws proves nothing about the target: inconclusive, with the error kept. */
export function checkSafely(invariant: Invariant, history: History): Verdict {
  try {
    return invariant.check(history);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { result: "inconclusive", reason: `the check itself failed: ${message}` };
  }
}

/** Builds a violation from the attempts that witness it. */
export function violation(
  witnesses: readonly Recorded[],
  proof: { readonly message: string; readonly expected: string; readonly actual: string },
): Violation {
  return {
    ...proof,
    key: witnesses[0]?.attempt.key ?? null,
    attempts: [...new Set(witnesses.map(({ attempt }) => attempt.id))],
  };
}

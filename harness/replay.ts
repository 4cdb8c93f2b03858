/**
 * Replay: the scenario of one violation is played again and again from the same seed, and this counts in how
 * many of the runs the same invariant was violated in it again.
 */
import type { Result } from "./invariant.ts";
import type { Judgement } from "./judge.ts";
import type { ReportedViolation } from "./report.ts";

/** What one more run of the scenario showed of the violation. */
export type Repeat =
  | { readonly result: "failed"; readonly because: string }
  | { readonly result: "held" }
  | { readonly result: "inconclusive"; readonly because: string };

export function repeatIn(
  judgement: Judgement,
  { invariant, scenario }: Pick<ReportedViolation, "invariant" | "scenario">,
): Repeat {
  const played = judgement.scenarios.find(({ history }) => history.scenario.id === scenario);
  const verdict = played?.findings.find((finding) => finding.invariant.id === invariant)?.verdict;
  // With evidence missing in the middle, a violation may only seem to be one.
  if (verdict?.result === "fail" && !judgement.history.hasGaps) {
    return { result: "failed", because: verdict.violations[0].message };
  }
  // A race that did not take place, or a scenario cut short, would have shown nothing.
  const [doubt] = [...judgement.reasons, ...(played?.reasons ?? [])];
  if (doubt !== undefined) return { result: "inconclusive", because: doubt };
  switch (verdict?.result) {
    case "pass":
      return { result: "held" };
    case "inconclusive":
    case "skip":
      return { result: "inconclusive", because: verdict.reason };
    default:
      return { result: "inconclusive", because: `${invariant} was not looked at in ${scenario}` };
  }
}

export function countOf(repeats: readonly Repeat[], result: Repeat["result"]): number {
  return repeats.filter((repeat) => repeat.result === result).length;
}

/** Once is enough to say that it fails; that it does not, only when every run could have shown it. */
export function replayVerdict(repeats: readonly Repeat[]): Result {
  if (countOf(repeats, "failed") > 0) return "fail";
  return repeats.length > 0 && countOf(repeats, "inconclusive") === 0 ? "pass" : "inconclusive";
}

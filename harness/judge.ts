/** Judging: every invariant over every scenario's history, combined by the fixed table. */
import { describe } from "./evidence/answers.ts";
import { faultReach } from "./evidence/fault-reach.ts";
import { unfeltRefusals } from "./evidence/unfelt-refusals.ts";
import type { History, Recorded, RunHistory } from "./history.ts";
import {
  checkSafely,
  combine,
  type Invariant,
  type Level,
  type Result,
  type Verdict,
  type Violation,
} from "./invariant.ts";
import { notReconciled, type Reconciliation, reconcile } from "./reconciliation.ts";

/** One invariant's verdict on one scenario. */
export interface Finding {
  readonly invariant: Invariant;
  readonly history: History;
  readonly level: Level;
  readonly verdict: Verdict;
}

export interface ScenarioVerdict {
  readonly history: History;
  readonly result: Result;
  /** Why it is not a pass, beyond the violations themselves. */
  readonly reasons: readonly string[];
  /** What whoever reads it should know, and that weighs nothing. */
  readonly notes: readonly string[];
  readonly findings: readonly Finding[];
  /** Null: it was skipped. */
  readonly reconciliation: Reconciliation | null;
}

export interface InvariantVerdict {
  readonly invariant: Invariant;
  readonly level: Level;
  readonly result: Result;
  readonly checked: number;
  readonly reasons: readonly string[];
  readonly violations: readonly { readonly scenario: string; readonly violation: Violation }[];
}

export interface Judgement {
  readonly history: RunHistory;
  readonly result: Result;
  /** Why the run as a whole proves less than its parts. */
  readonly reasons: readonly string[];
  readonly scenarios: readonly ScenarioVerdict[];
  readonly invariants: readonly InvariantVerdict[];
}

export function judge(history: RunHistory, invariants: readonly Invariant[]): Judgement {
  const scenarios = history.scenarios.map((scenario) => {
    const verdict = judgeScenario(scenario, invariants);
    scenario.putAway();
    return verdict;
  });
  const reasons = runReasons(history, scenarios);
  const results = scenarios.map(({ result }) => result);
  const result = combine(reasons.length > 0 ? [...results, "inconclusive"] : results);
  return {
    history,
    // With evidence missing in the middle, or when the lab itself gave way, a violation may only seem to be one.
    result: result === "fail" && (history.hasGaps || history.ending === "failed") ? "inconclusive" : result,
    reasons,
    scenarios,
    invariants: invariants.map((invariant) => overall(invariant, scenarios)),
  };
}

function judgeScenario(history: History, invariants: readonly Invariant[]): ScenarioVerdict {
  const { scenario } = history;
  if (scenario.skipped !== null && history.attemptCount === 0) {
    const result = scenario.isLacking ? "inconclusive" : "skip";
    return { history, result, reasons: [scenario.skipped], notes: [], findings: [], reconciliation: null };
  }
  const findings = invariants.map((invariant): Finding => {
    const level = history.contract.levels[invariant.id] ?? invariant.level;
    return { invariant, history, level, verdict: checkSafely(invariant, history) };
  });
  const reconciled = reconcileSafely(history);
  const reconciliation = reconciled instanceof Error ? notReconciled(reconciled.message) : reconciled;
  const reasons = [
    ...scenarioReasons(history),
    ...notExercised(history, findings),
    ...inconclusiveReasons(findings),
    ...(reconciled instanceof Error ? [`the reconciliation itself failed: ${reconciled.message}`] : []),
    ...unresolvedReasons(reconciliation),
  ];
  const result = combine([...findings.map(weight), ...(reasons.length > 0 ? (["inconclusive"] as const) : [])]);
  const unfelt = unfeltRefusals(history);
  return { history, result, reasons, notes: unfelt === null ? [] : [unfelt], findings, reconciliation };
}

/** Only a broken `must` fails a run; a deviation from a `should` is reported and passes. */
function weight({ verdict, level }: Finding): Result {
  return verdict.result === "fail" && level !== "must" ? "pass" : verdict.result;
}

/** A reconciliation that fails proves nothing about the target. */
function reconcileSafely(history: History): Reconciliation | Error {
  try {
    return reconcile(history);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Nobody can say what became of a key: that is no pass, whatever the invariants found. */
function unresolvedReasons({ unresolved }: Reconciliation): string[] {
  const [first] = unresolved;
  if (first === undefined) return [];
  const { reference, lastAnswer, effects, charges, record } = first;
  const charged = charges === null ? "" : `, ${charges} charge(s)`;
  return [
    `what became of ${unresolved.length} key(s) is unresolved: ${reference} (${lastAnswer}; ${effects} effect(s)${charged}, record ${record ?? "none"})`,
  ];
}

function scenarioReasons(history: History): string[] {
  const { scenario, attempts, missedFaults } = history;
  const reasons: string[] = [];
  if (scenario.skipped !== null) reasons.push(scenario.skipped);
  if (!scenario.finished) reasons.push("the scenario was not played to its end");
  if (attempts.length === 0) reasons.push("no attempt was made");
  if (scenario.unraced > 0) reasons.push(`${scenario.unraced} burst(s) never overlapped, however often repeated`);
  if (missedFaults.length > 0) {
    reasons.push(`${missedFaults.length} fault(s) never struck: ${[...new Set(missedFaults)].slice(0, 3).join("; ")}`);
  }
  const unanswered = attempts.filter((recorded) => isUnexplained(history, recorded));
  if (unanswered.length > attempts.length * UNANSWERED_SHARE_MAX) {
    const how = [...new Set(unanswered.map(({ outcome }) => describe(outcome)))].join(", ");
    reasons.push(
      `${unanswered.length} of ${attempts.length} attempts got no answer, and no fault that was at work explains it (${how})`,
    );
  }
  return reasons;
}

/** With more of a scenario's attempts unanswered than this, what it set out to do did not happen. */
const UNANSWERED_SHARE_MAX = 0.05;

/** No answer, though neither the client hung up nor a fault stood in the way. */
function isUnexplained(history: History, recorded: Recorded): boolean {
  const { outcome } = recorded;
  if (outcome.kind === "responded") return false;
  if (outcome.kind === "indeterminate" && outcome.reason === "aborted") return false;
  return faultReach(history).lastTouching(recorded) === null;
}

/** A scenario names what it is there to look at; not having looked proves nothing. */
function notExercised({ scenario }: History, findings: readonly Finding[]): string[] {
  return findings.flatMap(({ invariant, verdict }) =>
    verdict.result === "skip" && scenario.exercises.includes(invariant.id) && !verdict.excused
      ? [`${invariant.id} was to be exercised and looked at nothing: ${verdict.reason}`]
      : [],
  );
}

function inconclusiveReasons(findings: readonly Finding[]): string[] {
  return findings.flatMap(({ invariant, verdict }) =>
    verdict.result === "inconclusive" ? [`${invariant.id}: ${verdict.reason}`] : [],
  );
}

function runReasons(history: RunHistory, scenarios: readonly ScenarioVerdict[]): string[] {
  const reasons: string[] = [];
  if (history.run === null) reasons.push("the history does not say which run it is of");
  if (history.attempts === 0) reasons.push("nothing was looked at: the history holds no attempt");
  if (history.ending !== "done") reasons.push(endingReason(history));
  if (history.damage.length > 0) reasons.push(`parts of the history could not be read: ${history.damage[0]}`);
  if (scenarios.length > 0 && scenarios.every(({ result }) => result === "skip")) {
    reasons.push("every scenario was skipped");
  }
  return reasons;
}

function endingReason({ ending, endingMessage }: RunHistory): string {
  const detail = endingMessage === null ? "" : `: ${endingMessage}`;
  switch (ending) {
    case "interrupted":
      return `the run was interrupted${detail}`;
    case "target-lost":
      return `the target was lost in mid-run${detail}`;
    case "failed":
      return `the run failed${detail}`;
    default:
      return "the history ends before the run does";
  }
}

function overall(invariant: Invariant, scenarios: readonly ScenarioVerdict[]): InvariantVerdict {
  const findings = scenarios.flatMap(({ findings }) => findings.filter((finding) => finding.invariant === invariant));
  let checked = 0;
  const reasons = new Set<string>();
  const violations: { scenario: string; violation: Violation }[] = [];
  for (const { verdict, history } of findings) {
    if ("checked" in verdict) checked += verdict.checked;
    if ("reason" in verdict) reasons.add(verdict.reason);
    if (verdict.result !== "fail") continue;
    for (const violation of verdict.violations) violations.push({ scenario: history.scenario.id, violation });
  }
  return {
    invariant,
    level: findings[0]?.level ?? invariant.level,
    result: combine(findings.map(({ verdict }) => verdict.result)),
    checked,
    reasons: [...reasons],
    violations,
  };
}

/**
 * The finished report: all that a reporter may see. It is made once from a judgement; reporters only lay it
 * out. Its JSON is a published format.
 */
import { z } from "zod";
import { LEVELS } from "./contract.ts";
import { curlOf } from "./curl.ts";
import type { RaceReceipt } from "./event.ts";
import { describe } from "./evidence/answers.ts";
import type { History, Recorded } from "./history.ts";
import type { Violation } from "./invariant.ts";
import type { Judgement } from "./judge.ts";
import { recipeSchema } from "./recipe.ts";
import { type KeyClass, together } from "./reconciliation.ts";

const result = z.enum(["pass", "fail", "inconclusive", "skip"]);

const witness = z.strictObject({
  id: z.string(),
  /** `POST /orders`, by whom, on which replica. */
  request: z.string(),
  /** Microseconds since the run began. */
  invokedAt: z.number(),
  completedAt: z.number().nullable(),
  outcome: z.string(),
  curl: z.string(),
});

const violation = z.strictObject({
  /** Unique in the report, and what `idemproof replay` is told: at-most-one-effect.2 is the second one listed. */
  id: z.string(),
  invariant: z.string(),
  message: z.string(),
  scenario: z.string(),
  requirement: z.string(),
  expected: z.string(),
  actual: z.string(),
  key: z.string().nullable(),
  /** Ids of the attempts that witness it. */
  attempts: z.array(z.string()),
  witnesses: z.array(witness),
  /** The command that plays this scenario again. */
  repeat: z.string(),
  /** The command that plays it again and counts how often this violation shows again; empty without a recipe. */
  replay: z.string(),
});

const race = z.strictObject({
  bursts: z.int(),
  /** Bursts in which at least two attempts were in flight together. */
  overlapped: z.int(),
  medianReleaseSpreadMicros: z.number(),
  medianArrivalSpreadMicros: z.number().nullable(),
  medianInFlight: z.number(),
  /** A window of this length would have been hit with 95 % probability; null when too few bursts overlapped. */
  windowFoundMicros: z.number().nullable(),
});

const counts = z.strictObject({
  "exactly-once": z.int(),
  duplicated: z.int(),
  lost: z.int(),
  ghost: z.int(),
  refused: z.int(),
  "resolved-unknown": z.int(),
  "unresolved-unknown": z.int(),
} satisfies Record<KeyClass, z.ZodType>);

/** What became of every key: client history, ledger and processor, and key records held against each other. */
const reconciliation = z.strictObject({
  counts,
  /** Keys that outlived their retention and may rightly have executed twice. */
  notCompared: z.int(),
  /** Why nothing was compared, or null. */
  reason: z.string().nullable(),
  /** The first keys of which nobody can say what became of them. */
  unresolved: z.array(
    z.strictObject({
      scenario: z.string(),
      reference: z.string(),
      key: z.string().nullable(),
      /** Of the client. */
      lastAnswer: z.string(),
      effects: z.int(),
      charges: z.int().nullable(),
      record: z.string().nullable(),
    }),
  ),
});

export const reportSchema = z.strictObject({
  format: z.literal(1),
  verdict: result,
  reasons: z.array(z.string()),
  target: z.string(),
  contract: z.string(),
  seed: z.number(),
  version: z.string(),
  startedAt: z.string(),
  durationMs: z.number(),
  attempts: z.int(),
  books: z.strictObject({
    effects: z.boolean(),
    records: z.boolean(),
    /** The lab's processor, which keeps books of its own. */
    downstream: z.boolean(),
  }),
  /** What was passed over in the history, without loss or with it, and what a scenario would have the reader know. */
  notes: z.array(z.string()),
  command: z.string(),
  /** What a replay is played by; null for histories that do not hold it. */
  recipe: recipeSchema.nullable(),
  race: race.nullable(),
  reconciliation,
  scenarios: z.array(
    z.strictObject({
      id: z.string(),
      title: z.string(),
      requirement: z.string(),
      verdict: result,
      reasons: z.array(z.string()),
      attempts: z.int(),
      failed: z.array(z.string()),
    }),
  ),
  invariants: z.array(
    z.strictObject({
      id: z.string(),
      statement: z.string(),
      level: z.enum(LEVELS),
      verdict: result,
      checked: z.int(),
      reasons: z.array(z.string()),
      violationCount: z.int(),
      violations: z.array(violation),
    }),
  ),
});

export type Report = z.output<typeof reportSchema>;
export type ReportedViolation = z.output<typeof violation>;

/** More violations of one invariant are counted and not listed: the first ones tell the story. */
const VIOLATIONS_LISTED_MAX = 10;
const WITNESSES_LISTED_MAX = 6;

export function reportOf(judgement: Judgement): Report {
  const { history } = judgement;
  const { run } = history;
  const byId = new Map(history.scenarios.map((scenario) => [scenario.scenario.id, scenario]));
  return {
    format: 1,
    verdict: judgement.result,
    reasons: [...judgement.reasons],
    target: run?.target ?? "unknown",
    contract: run?.contract.id ?? "unknown",
    seed: run?.seed ?? 0,
    version: run?.version ?? "unknown",
    startedAt: run?.startedAt ?? "",
    durationMs: history.durationMs,
    attempts: history.attempts,
    books: { effects: false, records: false, downstream: false, ...run?.books },
    notes: [...history.notes, ...history.damage, ...judgement.scenarios.flatMap(({ notes }) => notes)],
    command: run?.command ?? "",
    recipe: run?.recipe ?? null,
    reconciliation: reconciledIn(judgement),
    race: raceOf(history.scenarios.flatMap(({ receipts }) => receipts)),
    scenarios: judgement.scenarios.map(
      ({ history: { scenario, attemptCount }, result: verdict, reasons, findings }) => ({
        id: scenario.id,
        title: scenario.title,
        requirement: scenario.requirement,
        verdict,
        reasons: [...reasons],
        attempts: attemptCount,
        failed: findings.flatMap((finding) => (finding.verdict.result === "fail" ? [finding.invariant.id] : [])),
      }),
    ),
    invariants: judgement.invariants.map(({ invariant, level, result: verdict, checked, reasons, violations }) => ({
      id: invariant.id,
      statement: invariant.statement,
      level,
      verdict,
      checked,
      reasons: [...reasons],
      violationCount: violations.length,
      violations: listed(violations).map(({ scenario, violation: found }, index) =>
        reported(invariant.id, index + 1, found, byId.get(scenario)),
      ),
    })),
  };
}

/** More are counted and not listed. */
const UNRESOLVED_LISTED_MAX = 100;

function reconciledIn({ scenarios }: Judgement): Report["reconciliation"] {
  const { unresolved, ...rest } = together(scenarios.flatMap((scenario) => scenario.reconciliation ?? []));
  return { ...rest, unresolved: unresolved.slice(0, UNRESOLVED_LISTED_MAX).map((one) => ({ ...one })) };
}

type Found = Judgement["invariants"][number]["violations"][number];

/** One of each scenario first, then the next of each: where a thing happened tells more than how often. */
function listed(violations: readonly Found[]): readonly Found[] {
  const turns = new Map<string, number>();
  const inTurn = violations.map((found) => {
    const turn = turns.get(found.scenario) ?? 0;
    turns.set(found.scenario, turn + 1);
    return { found, turn };
  });
  return inTurn
    .sort((one, other) => one.turn - other.turn)
    .slice(0, VIOLATIONS_LISTED_MAX)
    .map(({ found }) => found);
}

function reported(
  invariant: string,
  number: number,
  found: Violation,
  history: History | undefined,
): ReportedViolation {
  const id = `${invariant}.${number}`;
  const recipe = history?.run.recipe;
  const witnesses = found.attempts
    .slice(0, WITNESSES_LISTED_MAX)
    .flatMap((id) => history?.attempts.find(({ attempt }) => attempt.id === id) ?? []);
  return {
    id,
    invariant,
    message: found.message,
    scenario: history?.scenario.id ?? "",
    requirement: history?.scenario.requirement ?? "",
    expected: found.expected,
    actual: found.actual,
    key: found.key,
    attempts: [...found.attempts],
    witnesses: history === undefined ? [] : witnesses.map((recorded) => witnessOf(recorded, history)),
    repeat:
      history === undefined ? "" : `${history.run.command} --seed ${history.run.seed} --only ${history.scenario.id}`,
    replay: recipe === undefined ? "" : `${recipe.command} ${id}`,
  };
}

function witnessOf(recorded: Recorded, { run }: History): z.output<typeof witness> {
  const { attempt, invokedAt, completedAt, outcome } = recorded;
  return {
    id: attempt.id,
    request: `${attempt.request.method} ${attempt.request.path} by ${attempt.caller} on replica ${attempt.replica}`,
    invokedAt,
    completedAt: Number.isFinite(completedAt) ? completedAt : null,
    outcome: describe(outcome),
    curl: curlOf(attempt, run),
  };
}

function raceOf(receipts: readonly RaceReceipt[]): Report["race"] {
  if (receipts.length === 0) return null;
  const arrivals = receipts.flatMap(({ arrivalSpreadMicros }) => arrivalSpreadMicros ?? []);
  const overlapped = receipts.filter(({ inFlight }) => inFlight >= 2);
  return {
    bursts: receipts.length,
    overlapped: overlapped.length,
    medianReleaseSpreadMicros: median(receipts.map(({ releaseSpreadMicros }) => releaseSpreadMicros)) ?? 0,
    medianArrivalSpreadMicros: median(arrivals),
    medianInFlight: median(receipts.map(({ inFlight }) => inFlight)) ?? 0,
    windowFoundMicros: windowFound(overlapped.map(({ closestMicros }) => closestMicros)),
  };
}

/**
 * The shortest race window that n bursts find with 95 % probability. A burst finds a window that is longer
 * than the distance of its two closest arrivals; with p the share of bursts that do, n of them miss it with
 * probability (1 - p)^n. So p must be at least 1 - 0.05^(1/n), and the window is that quantile of the distances.
 */
function windowFound(closest: readonly number[]): number | null {
  const n = closest.length;
  if (n < 3) return null;
  const needed = 1 - 0.05 ** (1 / n);
  const sorted = [...closest].sort((one, other) => one - other);
  return sorted[Math.min(n - 1, Math.ceil(needed * n) - 1)] ?? null;
}

function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

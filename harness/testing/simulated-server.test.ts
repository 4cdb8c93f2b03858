/**
 * What keeps the judge honest: a correct server is never accused, whatever order its messages, statements and
 * pauses take; a server with one defect is accused of it under every seed.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadScenarios } from "../cli/scenarios.ts";
import { historyOf } from "../history.ts";
import { invariants } from "../invariants/list.ts";
import { type Judgement, judge } from "../judge.ts";
import type { Scenario, Step } from "../scenario.ts";
import type { Defect } from "./simulated-defects.ts";
import { type SimulationOptions, simulate } from "./simulated-run.ts";

/** The same cases in every run of the tests; another number looks at others. */
const PROPERTY_SEED = Number(process.env["SEED"] ?? 20261201);
const PROPERTY_RUNS = Number(process.env["RUNS"] ?? 80);
const SEEDS_PER_DEFECT = 8;

const scenarios = await loadScenarios();

/** Every kind of step in one plan, entangled: what no shipped scenario needs. */
const entangled: Scenario = {
  id: "entangled",
  title: "Every kind of step",
  requirement: "Whatever happens to one operation, it takes effect once",
  exercises: [],
  alone: true,

  plan({ random, replicas, endpoints: [{ name: endpoint }], callers: [caller], contract: { leaseMs } }) {
    const one = { operation: "one", endpoint, caller, condition: "slow" } as const;
    const two = { operation: "two", endpoint, caller };
    const replica = random.below(replicas);
    const heldMs = random.below(2 * Number(leaseMs));
    const paused: Step[] = [
      { do: "start", attempts: [one, two, { ...two, replica }] },
      { do: "wait", ms: heldMs },
      { do: "observe" },
      { do: "burst", gate: "none", attempts: [one, two, one, two] },
    ];
    return [
      { do: "start", attempts: [one, { ...one, abortAfterMs: random.below(400) }] },
      { do: "wait", ms: random.below(300) },
      { do: "during", fault: { fault: "pause-replica", replica }, steps: paused },
      { do: "send", attempts: [{ ...one, payload: { kind: "spelling", name: "reordered" } }, two] },
      { do: "persist", attempts: [one, two] },
      { do: "join" },
      { do: "send", attempts: [one, two, one] },
      { do: "observe" },
    ];
  },
};

const everyScenario = [...scenarios, entangled];
const everyId = everyScenario.map(({ id }) => id);

const correctRuns = fc.record({
  size: fc.record({
    seed: fc.nat(),
    rounds: fc.integer({ min: 1, max: 4 }),
    samples: fc.integer({ min: 1, max: 3 }),
    concurrency: fc.integer({ min: 2, max: 16 }),
  }),
  replicas: fc.integer({ min: 1, max: 4 }),
  contract: fc.record({ leaseMs: fc.constantFrom(600, 1_000, 2_500), retentionMs: fc.constantFrom(4_000, 6_000) }),
  loss: fc.constantFrom(0, 0, 0.02),
  only: fc.oneof(fc.subarray(everyId, { minLength: 1, maxLength: 2 }), fc.constant(everyId)),
});

/** Why a run of the correct server may prove less than it set out to. */
const INNOCENT_REASONS = [/never overlapped, however often repeated$/];
const REASONS_OF_LOSS = [/got no answer, and no fault was at work/, /was to be exercised and looked at nothing/];

test("the correct server is never accused", () => {
  fc.assert(
    fc.property(correctRuns, ({ only, ...options }) => {
      const some = everyScenario.filter(({ id }) => only.includes(id));
      const judgement = judged({ ...options, scenarios: some, behaviour: new Set() });
      expect(accusations(judgement)).toEqual([]);
      const known = options.loss === 0 ? INNOCENT_REASONS : [...INNOCENT_REASONS, ...REASONS_OF_LOSS];
      expect(reasonsOf(judgement).filter((reason) => !known.some((one) => one.test(reason)))).toEqual([]);
    }),
    { numRuns: PROPERTY_RUNS, seed: PROPERTY_SEED },
  );
});

test("the same options give the same events, another seed gives others", () => {
  const eventsOf = (seed: number) => JSON.stringify(simulate(sized(seed, everyScenario)));
  expect(eventsOf(1)).toBe(eventsOf(1));
  expect(eventsOf(1)).not.toBe(eventsOf(2));
});

test("correct runs show what can happen to an attempt", () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 10; seed += 1) {
    for (const event of simulate({ ...sized(seed, everyScenario), loss: 0.01 })) {
      if (event.type !== "completed") continue;
      const { outcome } = event;
      if (outcome.kind !== "responded") seen.add(outcome.kind === "refused" ? outcome.kind : outcome.reason);
      else seen.add(`${outcome.status}${"idempotency-replayed" in outcome.headers ? " replayed" : ""}`);
    }
  }
  const expected = ["201", "201 replayed", "400", "400 replayed", "409", "422", "503", "aborted", "reset", "closed"];
  expect([...seen]).toEqual(expect.arrayContaining(expected));
});

/** The scenario that provokes a defect, and the invariants that must see it under every seed. */
const accused: Readonly<Record<Defect, readonly [scenario: string, ...invariants: string[]]>> = {
  "check-then-act": ["duplicates-at-once", "at-most-one-effect"],
  "cleanup-deletes-live-claim": ["cleanup-during-bursts", "at-most-one-effect"],
  "claim-without-lease": ["expired-lease", "every-key-resolves"],
  "takeover-without-fencing": ["expired-lease", "zombie-is-fenced", "at-most-one-effect"],
  "takeover-unconditional": ["expired-lease", "single-takeover", "at-most-one-effect"],
  "process-local-store": ["duplicates-at-once", "at-most-one-effect"],
  "one-lock-for-all": ["expired-lease", "unrelated-keys-are-unaffected"],
  "retention-too-short": ["expired-retention", "retention-is-kept"],
  "retention-without-end": ["expired-retention", "retention-is-kept"],
  "no-fingerprint": ["other-payload-after-completion", "no-replay-across-mismatch"],
  "fingerprint-without-amount": ["each-field-changed", "every-outcome-field-is-fingerprinted"],
  "fingerprint-without-currency": ["each-field-changed", "every-outcome-field-is-fingerprinted"],
  "fingerprint-without-item": ["each-field-changed", "every-outcome-field-is-fingerprinted"],
  "fingerprint-without-reference": ["each-field-changed", "every-outcome-field-is-fingerprinted"],
  "fingerprint-of-bytes": ["equal-spellings", "equal-requests-replay"],
  "scope-without-caller": ["same-key-other-caller", "scopes-are-isolated"],
  "scope-without-endpoint": ["same-key-other-route", "scopes-are-isolated"],
  "scope-without-query": ["same-key-other-query", "scopes-are-isolated"],
  "keys-without-case": ["look-alike-keys", "distinct-keys-stay-distinct"],
  "keys-cut": ["look-alike-keys", "distinct-keys-stay-distinct"],
  "missing-key-executes": ["missing-key", "missing-key-is-rejected"],
  "malformed-key-accepted": ["malformed-keys", "malformed-key-is-rejected"],
  "marker-trusted": ["forged-internal-headers", "internal-markers-are-inert"],
  "server-error-stored": ["failure-before-effect", "error-policy-is-kept"],
  "validation-error-released": ["validation-error", "error-policy-is-kept"],
  "rejection-overwrites-record": ["retry-after-each-rejection", "original-survives-rejection"],
  "rejection-leaks": ["other-payload-after-completion", "no-replay-across-mismatch"],
  "ghost-effect": ["other-payload-after-completion", "no-effect-without-acceptance"],
  "lost-effect": ["retry-after-answer", "acknowledged-effect-exists"],
  "wrong-amount-answered": ["retry-after-answer", "effect-matches-answer"],
  "record-left-in-progress": ["retry-after-answer", "atomic-record-and-effect"],
  "original-headers-lost": ["retry-after-answer", "replay-is-identical"],
  "replay-unmarked": ["retry-after-answer", "replay-is-marked"],
  "conflict-after-completion": [
    "retry-after-answer",
    "conflict-only-while-in-flight",
    "once-completed-always-completed",
  ],
  "conflict-without-retry-after": ["duplicates-against-slow-handler", "conflict-invites-retry"],
  "conflict-with-absurd-retry-after": ["duplicates-against-slow-handler", "conflict-invites-retry"],
  "conflict-undocumented": ["duplicates-against-slow-handler", "duplicates-get-a-promised-answer"],
  "duplicate-gets-server-error": ["duplicates-at-once", "duplicates-cause-no-server-error"],
};

describe("a server with one defect is accused of it under every seed", () => {
  test.each(Object.entries(accused))("%s", (defect, [id, ...expected]) => {
    const provoking = scenarios.filter((scenario) => scenario.id === id);
    expect(provoking).toHaveLength(1);
    for (let seed = 1; seed <= SEEDS_PER_DEFECT; seed += 1) {
      const judgement = judged({ ...sized(seed, provoking), behaviour: new Set([defect as Defect]) });
      const found = new Set(accusations(judgement).map(([invariant]) => invariant));
      expect([...found], `seed ${seed}`).toEqual(expect.arrayContaining(expected.filter((one) => isBuilt(one))));
    }
  });
});

test("every invariant is seen to be violated by some defect", () => {
  const violated = new Set(Object.values(accused).flatMap(([, ...expected]) => expected));
  expect(invariants.map(({ id }) => id).filter((id) => !violated.has(id))).toEqual([]);
});

function isBuilt(id: string): boolean {
  return invariants.some((invariant) => invariant.id === id);
}

function sized(seed: number, some: readonly Scenario[]): SimulationOptions {
  const size = { seed, rounds: 25, samples: 2, concurrency: 10 };
  return { scenarios: some, size, replicas: 2, behaviour: new Set() };
}

function judged(options: SimulationOptions): Judgement {
  return judge(historyOf(simulate(options)), invariants);
}

/** What the judge found wrong, whatever its level. */
function accusations({ invariants: verdicts }: Judgement): readonly (readonly [id: string, message: string])[] {
  return verdicts.flatMap(({ invariant, violations }) =>
    violations.map(({ violation }) => [invariant.id, violation.message] as const),
  );
}

function reasonsOf({ reasons, scenarios: verdicts }: Judgement): readonly string[] {
  return [...reasons, ...verdicts.filter(({ result }) => result !== "skip").flatMap((verdict) => verdict.reasons)];
}

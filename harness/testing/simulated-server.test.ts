/**
 * What keeps the judge honest: a correct server is never accused, whatever order its messages, statements and
 * pauses take; a server with one defect is accused of it under every seed.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadScenarios } from "../cli/scenarios.ts";
import type { ContractOverrides } from "../contract.ts";
import { invariants } from "../invariants/list.ts";
import { type Judgement, judge } from "../judge.ts";
import type { RunSize } from "../plan-context.ts";
import { historyOf } from "../reading/history-builder.ts";
import type { Scenario, Step } from "../scenario.ts";
import type { Defect } from "./simulated-defects.ts";
import type { Liberties } from "./simulated-liberties.ts";
import { type SimulationOptions, simulate } from "./simulated-run.ts";

/** The same cases in every run of the tests; another number looks at others. */
const PROPERTY_SEED = 20261201;
const PROPERTY_RUNS = 50;
const SEEDS_PER_DEFECT = 6;
const SEEDS_PER_CONTRACT = 2;
const SMALL = { rounds: 3, samples: 2, concurrency: 8 };
/** Enough rounds for the narrowest window to be hit under the least fitting pace. */
const PROVOKING = { rounds: 20, samples: 6, concurrency: 10 };

const scenarios = await loadScenarios();

/** Every kind of step in one plan, entangled: what no shipped scenario needs. */
const entangled: Scenario = {
  id: "entangled",
  title: "Every kind of step",
  requirement: "Whatever happens to one operation, it takes effect once",
  exercises: [],
  faulty: true,

  plan({ random, replicas, endpoints: [{ name: endpoint }], callers: [caller], contract: { leaseMs } }) {
    const one = { operation: "one", endpoint, caller, condition: "slow" } as const;
    const two = { operation: "two", endpoint, caller };
    const replica = random.below(replicas);
    const heldMs = random.below(leaseMs === "undocumented" ? 2_000 : 2 * leaseMs);
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
const ids = scenarios.map(({ id }) => id);

/**
 * Its first requests are not repeated. When one is lost, the one with the changed reference is rightly executed,
 * under a name in the books that acknowledged-effect-exists does not look for.
 */
const NEEDS_EVERY_ANSWER = "each-field-changed";

/** Promises that a publisher may leave open, alone or together. */
const SILENCES: readonly ContractOverrides[] = [
  { key: { missing: "undocumented", malformed: "undocumented", caseSensitive: "undocumented" } },
  { scope: { caller: "undocumented", endpoint: "undocumented", query: "undocumented" } },
  { fingerprint: "undocumented" },
  { mismatch: "undocumented", mismatchInFlight: "undocumented" },
  { replay: { marker: null, headers: [], body: "current-state" } },
  { inFlight: { answers: "undocumented", retryAfter: "optional" } },
  { stored: { validation: "undocumented", failedBeforeEffect: "undocumented", declined: "undocumented" } },
  { retentionMs: "undocumented", afterRetention: "undocumented" },
  { leaseMs: "undocumented" },
  { internalHeaders: [] },
];

const correctRuns = fc.record({
  size: fc.record({
    seed: fc.nat(),
    rounds: fc.integer({ min: 1, max: 4 }),
    samples: fc.integer({ min: 1, max: 3 }),
    concurrency: fc.integer({ min: 2, max: 16 }),
  }),
  replicas: fc.integer({ min: 1, max: 4 }),
  contract: fc.record({ leaseMs: fc.constantFrom(600, 1_000, 2_500), retentionMs: fc.constantFrom(4_000, 6_000) }),
  loss: fc.constantFrom(0, 0, 0, 0.02),
  grain: fc.constantFrom(1, 1, 1, 1_000),
  liberties: fc.record({
    expiry: fc.constantFrom("exact", "when-cleaned"),
    released: fc.constantFrom("remembers-payload", "forgets"),
    mismatchInFlight: fc.constantFrom("mismatch", "conflict"),
    duplicates: fc.constantFrom("conflict", "conflict", "held"),
    invalid: fc.constantFrom("stored", "stored", "refused-first"),
    hungUp: fc.constantFrom("goes-on", "dropped"),
  }),
  silent: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.subarray([...SILENCES]) }),
  only: fc.oneof(fc.subarray(ids, { maxLength: 2 }), fc.constant(ids)),
});

/** What a server's contract says of the liberties it takes. */
function promisesOf({ duplicates, invalid }: Liberties): ContractOverrides {
  return {
    ...(duplicates === "held" ? { inFlight: { answers: [], retryAfter: "optional" } } : {}),
    ...(invalid === "refused-first" ? { stored: { validation: ["released"] } } : {}),
  };
}

/** Why a run of the correct server may prove less than it set out to. */
const REASONS_OF_PACE = [/never overlapped, however often repeated$/];
/** The simulated server calls nobody: these are seen to be violated by their own tests. */
const NEED_A_PROCESSOR = ["one-downstream-operation", "no-blind-reexecution"];
const REASONS_OF_LOSS = [/got no answer, and no fault that was at work explains it/];
/** Where answers are missing, where it cannot be told what was first, where the contract is silent. */
const REASONS_OF_DOUBT = [/was to be exercised and looked at nothing/];
/** Held duplicates are never rejected. */
const REASONS_OF_HOLDING = [/^original-survives-rejection was to be exercised and looked at nothing/];

test("the correct server is never accused", () => {
  fc.assert(
    fc.property(correctRuns, ({ only, silent, ...options }) => {
      const { liberties, loss, grain } = options;
      const contract = { ...options.contract, ...promisesOf(liberties), ...Object.assign({}, ...silent) };
      const chosen = scenarios.filter(({ id }) => only.includes(id) && !(loss > 0 && id === NEEDS_EVERY_ANSWER));
      const some = [...chosen, entangled];
      const judgement = judged({ ...options, contract, scenarios: some, behaviour: new Set() });
      expect(accusations(judgement)).toEqual([]);
      const isDoubtful = loss > 0 || grain > 1 || silent.length > 0;
      const known = [
        ...REASONS_OF_PACE,
        ...(liberties.duplicates === "held" ? REASONS_OF_HOLDING : []),
        ...(loss > 0 ? REASONS_OF_LOSS : []),
        ...(isDoubtful ? REASONS_OF_DOUBT : []),
      ];
      expect(reasonsOf(judgement).filter((reason) => !known.some((one) => one.test(reason)))).toEqual([]);
    }),
    { numRuns: PROPERTY_RUNS, seed: PROPERTY_SEED },
  );
});

test("the same options give the same events, another seed gives others", () => {
  const eventsOf = (seed: number) => JSON.stringify(simulate(sized(seed, everyScenario, SMALL)));
  expect(eventsOf(1)).toBe(eventsOf(1));
  expect(eventsOf(1)).not.toBe(eventsOf(2));
});

test("correct runs show what can happen to an attempt", () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 10; seed += 1) {
    for (const event of simulate({ ...sized(seed, everyScenario, SMALL), loss: 0.01 })) {
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
  "zombie-overwrites-answer": ["expired-lease", "zombie-is-fenced", "once-completed-always-completed"],
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
  "marker-skips-key-layer": ["forged-internal-headers", "at-most-one-effect", "once-completed-always-completed"],
  "marker-echoed": ["forged-internal-headers", "internal-markers-are-inert"],
  "server-error-stored": ["failure-before-effect", "error-policy-is-kept"],
  "validation-error-released": ["validation-error", "error-policy-is-kept"],
  "failure-after-effect": ["failure-before-effect", "at-most-one-effect"],
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
  "duplicate-gets-made-up-success": ["duplicates-at-once", "replay-is-identical"],
  "duplicate-hangs": ["duplicates-at-once", "duplicates-cause-no-server-error"],
};

describe("a server with one defect is accused of it under every seed", () => {
  test.each(Object.entries(accused))("%s", (defect, [id, ...expected]) => {
    const provoking = scenarios.filter((scenario) => scenario.id === id);
    expect(provoking).toHaveLength(1);
    for (let seed = 1; seed <= SEEDS_PER_DEFECT; seed += 1) {
      const judgement = judged({ ...sized(seed, provoking, PROVOKING), behaviour: new Set([defect as Defect]) });
      const found = new Set(accusations(judgement).map(([invariant]) => invariant));
      expect([...found], `seed ${seed}`).toEqual(expect.arrayContaining(expected));
    }
  });
});

/** Defects under the strict contract, and a contract under which they are none. */
const allowed: readonly (readonly [Defect, ContractOverrides])[] = [
  ["scope-without-caller", { scope: { caller: ["shared"] } }],
  ["scope-without-caller", { scope: { caller: "undocumented" } }],
  ["scope-without-endpoint", { scope: { endpoint: ["shared"] } }],
  ["scope-without-endpoint", { scope: { endpoint: "undocumented" } }],
  ["scope-without-query", { scope: { query: ["shared"] } }],
  ["scope-without-query", { scope: { query: "undocumented" } }],
  ["no-fingerprint", { fingerprint: "none", mismatch: "undocumented", mismatchInFlight: "undocumented" }],
  ["no-fingerprint", { fingerprint: "undocumented", mismatch: "undocumented", mismatchInFlight: "undocumented" }],
  ["fingerprint-of-bytes", { fingerprint: "raw" }],
  ["fingerprint-of-bytes", { fingerprint: "undocumented" }],
  ["server-error-stored", { stored: { failedBeforeEffect: ["stored"] } }],
  ["server-error-stored", { stored: { failedBeforeEffect: "undocumented" } }],
  ["validation-error-released", { stored: { validation: ["released"] } }],
  ["validation-error-released", { stored: { validation: "undocumented" } }],
  ["missing-key-executes", { key: { missing: "executes" } }],
  ["missing-key-executes", { key: { missing: "undocumented" } }],
  ["malformed-key-accepted", { key: { malformed: "undocumented" } }],
  ["keys-without-case", { key: { caseSensitive: "undocumented" } }],
  ["replay-unmarked", { replay: { marker: null } }],
  ["original-headers-lost", { replay: { headers: ["content-type"] } }],
  ["conflict-without-retry-after", { inFlight: { retryAfter: "optional" } }],
  ["conflict-undocumented", { inFlight: { answers: [{ status: 425 }], retryAfter: "optional" } }],
  ["conflict-undocumented", { inFlight: { answers: "undocumented" } }],
  ["retention-without-end", { afterRetention: "undocumented" }],
  ["claim-without-lease", { leaseMs: "undocumented" }],
  ["marker-echoed", { internalHeaders: [] }],
];

/** Where only the key counts, it takes the replay of another payload's answer for an acknowledgement of its own. */
const COUNTS_OTHER_PAYLOADS = "acknowledged-effect-exists";

describe("what the contract allows is held against nobody", () => {
  test.each(allowed.map(([defect, contract]) => [defect, JSON.stringify(contract), contract] as const))(
    "%s under %s",
    (defect, _, contract) => {
      for (let seed = 1; seed <= SEEDS_PER_CONTRACT; seed += 1) {
        const options = { ...sized(seed, scenarios, SMALL), contract, behaviour: new Set([defect]) };
        const found = accusations(judged(options)).filter(
          ([id]) => !(id === COUNTS_OTHER_PAYLOADS && defect === "no-fingerprint"),
        );
        expect(found, `seed ${seed}`).toEqual([]);
      }
    },
  );
});

test("every invariant is seen to be violated by some defect", () => {
  const violated = new Set(Object.values(accused).flatMap(([, ...expected]) => expected));
  const others = invariants.map(({ id }) => id).filter((id) => !violated.has(id));
  expect(others).toEqual(NEED_A_PROCESSOR);
});

function sized(seed: number, some: readonly Scenario[], size: Omit<RunSize, "seed">): SimulationOptions {
  return { scenarios: some, size: { seed, ...size }, replicas: 2, behaviour: new Set() };
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

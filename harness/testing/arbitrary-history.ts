/**
 * Small histories of any kind, right and wrong ones, for comparing an invariant with a brute-force checker
 * written from its sentence alone. Few values for everything, so that coincidences are common.
 */
import fc from "fast-check";
import type { Contract, Storage, Treatment } from "../contract.ts";
import { strict } from "../contracts/strict.ts";
import type { Effect, KeyRecord } from "../event.ts";
import type { History } from "../history.ts";
import type { Invariant } from "../invariant.ts";
import type { Outcome, Payload } from "../operation.ts";
import {
  type AttemptSketch,
  answer,
  type CallSketch,
  effect,
  HistorySketch,
  lost,
  respelled,
} from "./history-builder.ts";

const asItIs = (outcome: Outcome): Outcome => outcome;

const OPERATIONS = ["one", "two"] as const;

const payload: fc.Arbitrary<Payload> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Payload>({ kind: "original" }) },
  { weight: 1, arbitrary: fc.constant<Payload>({ kind: "spelling", name: "reordered" }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Payload>({ kind: "changed", field: "/amount" }, { kind: "changed", field: "/item" }),
  },
  { weight: 1, arbitrary: fc.constant<Payload>({ kind: "other" }) },
  { weight: 1, arbitrary: fc.constant<Payload>({ kind: "invalid" }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Payload>(
      { kind: "pair", index: 0, side: "first" },
      { kind: "pair", index: 0, side: "second" },
    ),
  },
);

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        status: fc.constantFrom(201, 201, 201, 201, 400, 403, 404, 409, 422, 429, 503),
        id: fc.constantFrom("1", "2", "one", "two"),
        marked: fc.boolean(),
        location: fc.constantFrom("/1", "/2"),
        retryAfter: fc.constantFrom(undefined, "1", "90", "soon"),
        spell: fc.constantFrom(asItIs, asItIs, respelled),
      })
      .map(({ status, id, marked, location, retryAfter, spell }) =>
        spell(
          answer(
            status,
            { id },
            {
              ...(marked ? { "idempotency-replayed": "true" } : {}),
              ...(status === 201 ? { location } : {}),
              ...(retryAfter === undefined ? {} : { "retry-after": retryAfter }),
            },
          ),
        ),
      ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Outcome>(
      lost,
      { kind: "indeterminate", reason: "timeout" },
      { kind: "refused", reason: "ECONNREFUSED" },
    ),
  },
);

const sketch: fc.Arbitrary<AttemptSketch> = fc.record(
  {
    operation: fc.constantFrom(...OPERATIONS),
    key: fc.constantFrom("key", "key", "KEY", null),
    caller: fc.constantFrom("alice", "alice", "alice", "bob"),
    query: fc.constantFrom("", "", "", "q=1"),
    endpoint: fc.constantFrom("create", "create", "create", "charge", "refund"),
    replica: fc.constantFrom(0, 1),
    payload,
    condition: fc.constantFrom<AttemptSketch["condition"]>(null, null, "fails", "slow"),
    malformed: fc.constantFrom<AttemptSketch["malformed"]>(null, null, null, "empty"),
    forged: fc.constantFrom(false, false, false, true),
    persistent: fc.boolean(),
  },
  { requiredKeys: ["operation", "key"] },
);

const effects: fc.Arbitrary<Effect[]> = fc.array(
  fc
    .record({ operation: fc.constantFrom(...OPERATIONS), id: fc.constantFrom("1", "2") })
    .map(({ operation, id }) => effect(operation, { id })),
  { maxLength: 3 },
);

const records: fc.Arbitrary<KeyRecord[]> = fc.array(
  fc.record({ key: fc.constantFrom("key", "KEY"), state: fc.constantFrom("completed", "in_progress") }),
  { maxLength: 2 },
);

const treatment = fc.constantFrom<Contract["scope"]["caller"]>(
  ["separate"],
  ["mismatch"],
  ["shared"],
  ["separate", "mismatch"],
  "undocumented",
);

/** Contracts that differ where invariants look: short lease and retention, and the silent one. */
const contract: fc.Arbitrary<Partial<Contract>> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ leaseMs: fc.constantFrom(5, 1000), retentionMs: fc.constantFrom(20, 86_400_000) }),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Partial<Contract>>({
      leaseMs: "undocumented",
      retentionMs: "undocumented",
      mismatch: "undocumented",
      fingerprint: "undocumented",
      scope: { caller: "undocumented", endpoint: "undocumented", query: "undocumented" },
    }),
  },
  // Contracts of other publishers: scopes that are shared or refused, other fingerprints, silence on single promises.
  {
    weight: 3,
    arbitrary: fc.record(
      {
        retentionMs: fc.constantFrom(20, 86_400_000),
        scope: fc.record({ caller: treatment, endpoint: treatment, query: treatment }),
        fingerprint: fc.constantFrom<Contract["fingerprint"]>("canonical", "raw", "none"),
        mismatchInFlight: fc.constant("undocumented" as const),
        key: fc
          .record({
            missing: fc.constantFrom<Contract["key"]["missing"]>("executes", "undocumented"),
            malformed: fc.constantFrom<Contract["key"]["malformed"]>([{ status: 400 }], "undocumented"),
            caseSensitive: fc.constantFrom<Contract["key"]["caseSensitive"]>(true, "undocumented"),
          })
          .map((changes) => ({ ...strict.key, ...changes })),
      },
      { requiredKeys: [] },
    ),
  },
);

/** What a test wants to see more of than chance alone gives. Left out: as it comes. */
export interface Emphasis {
  readonly contract?: fc.Arbitrary<Partial<Contract>>;
  /** Laid over each attempt. */
  readonly sketch?: fc.Arbitrary<AttemptSketch>;
  /** When attempts begin, in milliseconds. */
  readonly from?: fc.Arbitrary<number>;
  readonly outcome?: fc.Arbitrary<Outcome>;
}

/** Everything under one key, in plain requests with few answers: where stories of one key are to be told. */
export const onOneKey = {
  sketch: fc.record({
    operation: fc.constantFrom("one", "one", "one", "two"),
    key: fc.constant("key"),
    caller: fc.constant("alice"),
    endpoint: fc.constant("create"),
    query: fc.constant(""),
    malformed: fc.constant(null),
  }),
  outcome: fc.constantFrom<Outcome>(
    ...[201, 201, 201, 201, 400, 409, 422, 503].map((status) => answer(status)),
    answer(201, { id: 1 }),
    respelled(answer(201, { id: 1 })),
    lost,
  ),
} as const satisfies Emphasis;

/** Contracts that differ in every promise, one as likely as the other, the strict one most of all. */
export const variedContract: fc.Arbitrary<Partial<Contract>> = fc.record(
  {
    leaseMs: fc.constantFrom<Contract["leaseMs"]>(5, 1000, "undocumented"),
    retentionMs: fc.constantFrom<Contract["retentionMs"]>(20, 86_400_000, 86_400_000, "undocumented"),
    afterRetention: fc.constantFrom<Contract["afterRetention"]>(
      ["new"],
      ["refused"],
      ["new", "refused"],
      "undocumented",
    ),
    mismatch: fc.constantFrom<Contract["mismatch"]>([{ status: 422 }], [{ status: 409 }], "undocumented"),
    mismatchInFlight: fc.constantFrom<Contract["mismatchInFlight"]>(
      [{ status: 422 }],
      [{ status: 409 }],
      "undocumented",
    ),
    fingerprint: fc.constantFrom<Contract["fingerprint"]>("canonical", "raw", "none", "undocumented"),
    inFlight: fc.record({
      answers: fc.constantFrom<Contract["inFlight"]["answers"]>(
        [{ status: 409 }],
        [{ status: 409 }],
        [{ status: 400 }, { status: 503 }],
        [],
        "undocumented",
      ),
      retryAfter: fc.constantFrom<Contract["inFlight"]["retryAfter"]>("required", "optional"),
    }),
    replay: fc.record({
      body: fc.constantFrom<Contract["replay"]["body"]>("verbatim", "verbatim", "current-state"),
      statuses: fc.constant([]),
      headers: fc.constant([]),
      marker: fc.constantFrom(null, { header: "idempotency-replayed", value: "true" }),
    }),
    stored: fc.record({
      validation: fc.constantFrom<Storage>(["stored"], ["released"], ["stored", "released"], "undocumented"),
      failedBeforeEffect: fc.constantFrom<Storage>(["stored"], ["released"], ["stored", "released"], "undocumented"),
      declined: fc.constantFrom<Storage>(["stored"], ["released"], "undocumented"),
    }),
    scope: fc.record({
      caller: fc.constantFrom<Treatment>(["separate"], ["shared"], ["separate", "mismatch"], "undocumented"),
      endpoint: fc.constantFrom<Treatment>(["separate"], ["mismatch"]),
      query: fc.constantFrom<Treatment>(["separate"], ["shared"]),
    }),
    key: fc.constantFrom<Contract["key"]>(strict.key, { ...strict.key, caseSensitive: "undocumented" }),
  },
  { requiredKeys: [] },
);

/** Most of them a pause; every kind that reaches others than its neighbours. */
const fault = fc.record({
  name: fc.constantFrom(
    ...Array.from({ length: 6 }, () => "pause-replica"),
    "kill-replica",
    "kill-replica",
    "link-down",
    "hang",
    "throw",
    "processor",
    "database",
  ),
  place: fc.record(
    { replica: fc.constantFrom(0, 1), operation: fc.constantFrom(...OPERATIONS), phase: fc.constant("claimed") },
    { requiredKeys: ["replica"] },
  ),
  from: fc.integer({ min: 0, max: 20 }),
  lasts: fc.integer({ min: 5, max: 30 }),
});

const call: fc.Arbitrary<CallSketch> = fc.record({
  result: fc.constantFrom(
    ...(["charged", "charged", "charged", "found", "unknown"] as const),
    ...(["declined", "replayed", "failed", "in-flight", "query-in-flight"] as const),
  ),
  key: fc.constantFrom("derived", "derived", "derived", "other", null),
  reference: fc.constantFrom(...OPERATIONS),
});

export function historiesWith(emphasis: Emphasis): fc.Arbitrary<History> {
  const attempt = fc.record({
    sketch,
    laidOver: emphasis.sketch ?? fc.constant({}),
    from: emphasis.from ?? fc.integer({ min: 0, max: 40 }),
    lasts: fc.option(fc.integer({ min: 1, max: 12 }), { freq: 12 }),
    outcome: emphasis.outcome ?? outcome,
  });
  return fc
    .record({
      attempts: fc.array(attempt, { minLength: 1, maxLength: 7 }),
      contract: emphasis.contract ?? contract,
      sharesReference: fc.constantFrom(false, false, false, true),
      faults: fc.array(fault, { maxLength: 2 }),
      observed: fc.option(fc.record({ at: fc.integer({ min: 10, max: 60 }), effects, records })),
      books: fc.option(fc.record({ effects, records }), { freq: 8 }),
      account: fc.option(fc.array(call, { maxLength: 4 })),
    })
    .map(({ attempts, contract: changes, sharesReference, faults, observed, books, account }) => {
      const history = new HistorySketch().contract(changes);
      for (const { sketch: one, laidOver, from, lasts, outcome: how } of attempts) {
        const shared = sharesReference ? { reference: "one" } : {};
        history.attempt({ ...one, ...laidOver, ...shared }, from, lasts === null ? null : from + lasts, how);
      }
      for (const { name, place, from, lasts } of faults) history.fault(name, place, from, from + lasts);
      if (observed) history.observed(observed.at, observed.effects, observed.records);
      if (books) history.books(books.effects, { records: books.records });
      if (account) history.account(account);
      return history.build();
    });
}

export const anyHistory: fc.Arbitrary<History> = historiesWith({});

/** Histories of one key, mostly one attempt after another: what comes after a key's owner is then seen often. */
export const oneKeyHistory: fc.Arbitrary<History> = fc
  .record({
    attempts: fc.array(
      fc.record({
        operation: fc.constantFrom("one", "one", "one", "two"),
        malformed: fc.constantFrom<AttemptSketch["malformed"]>(...Array.from({ length: 9 }, () => null), "empty"),
        payload: fc.oneof(fc.constant<Payload>({ kind: "original" }), payload, payload),
        outcome: fc.oneof(
          fc.constant(answer(201, { id: "1" }, { location: "/1" })),
          fc.constant(answer(422, { id: "1" })),
          outcome,
        ),
        pause: fc.integer({ min: -3, max: 6 }),
        lasts: fc.integer({ min: 1, max: 8 }),
      }),
      { minLength: 2, maxLength: 7 },
    ),
    contract,
  })
  .map(({ attempts, contract: changes }) => {
    const sketch = new HistorySketch().contract(changes);
    let now = 3;
    for (const { operation, malformed, payload: sent, outcome: how, pause, lasts } of attempts) {
      const from = now + pause;
      sketch.attempt({ operation, malformed, payload: sent }, from, from + lasts, how);
      now = from + lasts;
    }
    return sketch.build();
  });

/**
 * Asserts that an invariant and a brute-force checker agree on thousands of small histories: the checker
 * gives "fail", "pass", "skip" or "inconclusive" from the sentence alone, as naively as it can be written.
 */
export function agreesWith(
  invariant: Invariant,
  bruteForce: (history: History) => string,
  runs = 2_000,
  histories: fc.Arbitrary<History> = anyHistory,
): void {
  const seen = new Set<string>();
  fc.assert(
    fc.property(histories, (history) => {
      const { result } = invariant.check(history);
      seen.add(result);
      const expected = bruteForce(history);
      if (result !== expected) throw new Error(`${invariant.id} says ${result}, the brute-force checker ${expected}`);
    }),
    { numRuns: runs, seed: 20261201 },
  );
  // Agreement is worth something only if both answers occurred.
  for (const needed of ["pass", "fail"]) {
    if (!seen.has(needed)) throw new Error(`${invariant.id} was never seen to ${needed} on these histories`);
  }
}

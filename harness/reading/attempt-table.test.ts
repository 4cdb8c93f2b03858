import fc from "fast-check";
import { expect, test } from "vitest";
import type { Recorded } from "../history.ts";
import type { Attempt, Outcome } from "../operation.ts";
import { AttemptTable } from "./attempt-table.ts";

const text = fc.constantFrom("a", "b", "a#1");

/** Few values of each, so that rows often differ in one thing alone. */
const attempts: fc.Arbitrary<Attempt> = fc.record({
  id: fc.constantFrom("s#1", "s#2", "s#007", "s#", "other", "s#4294967295", "s#1e3"),
  scenario: fc.constant("s"),
  operation: text,
  reference: text,
  endpoint: text,
  key: fc.option(text),
  caller: text,
  query: text,
  replica: fc.nat(2),
  payload: fc.constantFrom<Attempt["payload"]>(
    { kind: "original" },
    { kind: "changed", field: "/a" },
    { kind: "changed", field: "/b" },
  ),
  fingerprint: text,
  condition: fc.constantFrom(null, "slow", "fails"),
  malformed: fc.constantFrom(null, "empty"),
  forged: fc.boolean(),
  persistent: fc.boolean(),
  request: fc.record({
    method: fc.constantFrom("POST", "PUT"),
    path: text,
    headers: fc.dictionary(fc.constantFrom("x", "y"), text),
    body: text,
  }),
});

const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({
    kind: fc.constant("responded" as const),
    status: fc.constantFrom(201, 409),
    headers: fc.dictionary(fc.constantFrom("location", "date"), text),
    body: fc.record({ text, bytes: fc.nat(1), digest: text }, { requiredKeys: ["text", "bytes"] }),
  }),
  fc.constantFrom<Outcome>(
    { kind: "refused", reason: "a" },
    { kind: "indeterminate", reason: "reset" },
    { kind: "indeterminate", reason: "reset", detail: "b" },
  ),
);

const fields = fc.constantFrom<keyof Attempt>(
  ...(["id", "operation", "reference", "endpoint", "key", "caller", "query", "replica", "payload"] as const),
  ...(["fingerprint", "condition", "malformed", "forged", "persistent", "request"] as const),
);

/** Attempts that differ from one of them in a single thing, or in none. */
const exchanges = fc
  .tuple(
    attempts,
    fc.array(
      fc.record({ other: attempts, field: fields, at: fc.nat(5), lasts: fc.nat(5), outcome: fc.option(outcomes) }),
      { maxLength: 30 },
    ),
  )
  .map(([first, list]) =>
    list.map(({ other, field, ...rest }) => ({ attempt: { ...first, [field]: other[field] }, ...rest })),
  );

test("a table gives back every attempt with its outcome, however much they have in common", () => {
  fc.assert(
    fc.property(exchanges, fc.boolean(), (list, keepsAll) => {
      const table = new AttemptTable();
      const expected: Recorded[] = [];
      for (const { attempt, at, lasts, outcome } of list) {
        const row = table.invoked(attempt, at);
        if (outcome !== null) table.completed(row, outcome, at + lasts, keepsAll ? null : ["location"]);
        expected.push({
          attempt,
          invokedAt: at,
          completedAt: outcome === null ? Infinity : at + lasts,
          outcome: outcome === null ? { kind: "indeterminate", reason: "open" } : seen(outcome, keepsAll),
        });
      }
      // Those without an end come after the others of the same moment.
      const isOpen = (one: Recorded): number => (one.completedAt === Infinity ? 1 : 0);
      expected.sort((one, other) => one.invokedAt - other.invokedAt || isOpen(one) - isOpen(other));
      expect(table.size).toBe(list.length);
      expect(table.laidOut().attempts.map(plain)).toEqual(expected.map(plain));
    }),
    { numRuns: 300, seed: 20261201 },
  );
});

function seen(outcome: Outcome, keepsAll: boolean): Outcome {
  if (outcome.kind !== "responded" || keepsAll) return outcome;
  const { location } = outcome.headers;
  return { ...outcome, headers: location === undefined ? {} : { location } };
}

/** What is read through getters as values, so that they are compared. */
function plain({ attempt, invokedAt, completedAt, outcome }: Recorded): unknown {
  const { id, scenario, operation, reference, endpoint, key, caller, query, replica, payload } = attempt;
  const { fingerprint, condition, malformed, forged, persistent, request } = attempt;
  const who = { id, scenario, operation, reference, endpoint, key, caller, query, replica, payload };
  return { ...who, fingerprint, condition, malformed, forged, persistent, request, invokedAt, completedAt, outcome };
}

test("a row that was given up is not laid out", () => {
  const [one, other] = fc.sample(attempts, { numRuns: 2, seed: 1 });
  if (one === undefined || other === undefined) throw new Error("two were asked for");
  const table = new AttemptTable();
  table.drop(table.invoked(one, 1));
  table.completed(table.invoked(other, 2), { kind: "refused", reason: "a" }, 3, null);
  expect(table.size).toBe(1);
  expect(table.laidOut().attempts.map(({ attempt }) => attempt.replica)).toEqual([other.replica]);
});

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Recorded } from "../history.ts";
import type { Attempt, Outcome } from "../operation.ts";
import { attempts, outcomes, plain } from "../testing/arbitrary-attempt.ts";
import { AttemptTable } from "./attempt-table.ts";

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

test("a row that was given up is not laid out", () => {
  const [one, other] = fc.sample(attempts, { numRuns: 2, seed: 1 });
  if (one === undefined || other === undefined) throw new Error("two were asked for");
  const table = new AttemptTable();
  table.drop(table.invoked(one, 1));
  table.completed(table.invoked(other, 2), { kind: "refused", reason: "a" }, 3, null);
  expect(table.size).toBe(1);
  expect(table.laidOut().attempts.map(({ attempt }) => attempt.replica)).toEqual([other.replica]);
});

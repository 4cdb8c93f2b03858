/** Attempts and outcomes of any kind, for tests of how a history is kept. */
import fc from "fast-check";
import type { Recorded } from "../history.ts";
import type { Attempt, Outcome } from "../operation.ts";

const text = fc.constantFrom("a", "b", "a#1");

/** Few values of each, so that rows often differ in one thing alone. */
export const attempts: fc.Arbitrary<Attempt> = fc.record({
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

export const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
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

/** What is read through getters as values, so that they are compared. */
export function plain({ attempt, invokedAt, completedAt, outcome }: Recorded): unknown {
  const { id, scenario, operation, reference, endpoint, key, caller, query, replica, payload } = attempt;
  const { fingerprint, condition, malformed, forged, persistent, request } = attempt;
  const who = { id, scenario, operation, reference, endpoint, key, caller, query, replica, payload };
  return { ...who, fingerprint, condition, malformed, forged, persistent, request, invokedAt, completedAt, outcome };
}

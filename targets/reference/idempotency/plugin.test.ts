import { expect, test } from "vitest";
import { type Decision, decide } from "./plugin.ts";
import type { KeyRecord } from "./record.ts";

/** state, lease left in ms, retention over, same request: what becomes of the attempt. */
const table: [KeyRecord["state"], number, boolean, boolean, Decision][] = [
  ["in_progress", 500, false, true, "conflict"],
  ["in_progress", 500, false, false, "mismatch"],
  ["in_progress", 0.5, false, true, "conflict"],
  // The lease is over at zero: whoever waited as long as it was told finds it so.
  ["in_progress", 0, false, true, "take-over"],
  ["in_progress", -500, false, true, "take-over"],
  ["in_progress", -500, false, false, "mismatch"],
  // A live claim outlives its retention; a dead one does not.
  ["in_progress", 500, true, true, "conflict"],
  ["in_progress", 500, true, false, "mismatch"],
  ["in_progress", -500, true, true, "take-over"],
  ["in_progress", -500, true, false, "take-over"],
  // What is left of a lease says nothing once its holder is done.
  ["completed", 500, false, true, "replay"],
  ["completed", 500, false, false, "mismatch"],
  ["completed", -500, false, true, "replay"],
  ["completed", -500, false, false, "mismatch"],
  ["completed", 500, true, true, "take-over"],
  ["completed", -500, true, false, "take-over"],
  ["failed_retryable", 500, false, true, "take-over"],
  ["failed_retryable", 500, false, false, "mismatch"],
  ["failed_retryable", -500, false, true, "take-over"],
  ["failed_retryable", -500, false, false, "mismatch"],
  ["failed_retryable", 500, true, true, "take-over"],
  ["failed_retryable", -500, true, false, "take-over"],
];

test.each(table)("%s, %d ms of lease left, retention over: %s, same request: %s → %s", (...row) => {
  const [state, leaseLeftMs, isExpired, isSame, decision] = row;
  const record: KeyRecord = { requestHash: "hash", state, fencingToken: "1", leaseLeftMs, isExpired, answer: null };
  expect(decide(record, isSame ? "hash" : "other")).toBe(decision);
});

/** lease left in ms, same request: what becomes of an attempt when the processor may have been called and retention is over. */
const open: [number, boolean, Decision][] = [
  [500, true, "conflict"],
  [500, false, "mismatch"],
  [-500, true, "take-over"],
  [-500, false, "mismatch"],
];

test.each(open)("outcome open, %d ms of lease left, same request: %s → %s", (leaseLeftMs, isSame, decision) => {
  for (const recoveryPoint of ["intent-recorded", "outcome-recorded"] as const) {
    const record: KeyRecord = {
      requestHash: "hash",
      state: "in_progress",
      fencingToken: "1",
      leaseLeftMs,
      isExpired: true,
      answer: null,
      recoveryPoint,
    };
    expect(decide(record, isSame ? "hash" : "other")).toBe(decision);
    // Once the key was freed, nothing is open any more.
    expect(decide({ ...record, state: "failed_retryable" }, "other")).toBe("take-over");
  }
});

/** The key is a field of the body, unique to each endpoint. Neither retention nor concurrency is published. */
import type { Contract } from "../contract.ts";

export const squarePayments: Contract = {
  id: "square-payments",
  title: "Square payments",
  source: "https://developer.squareup.com/docs/build-basics/common-api-patterns/idempotency",
  asOf: "2026-12-01",
  key: {
    placement: { body: "/idempotency_key" },
    maxLength: 45,
    missing: [{ status: 400 }],
    malformed: "undocumented",
    caseSensitive: "undocumented",
    format: "visible-ascii",
  },
  scope: { caller: "undocumented", endpoint: ["separate"], query: "undocumented" },
  fingerprint: "undocumented",
  replay: { body: "verbatim", statuses: [], headers: [], marker: null },
  inFlight: { answers: "undocumented", retryAfter: "optional" },
  mismatch: [{ status: 400 }],
  mismatchInFlight: "undocumented",
  stored: { validation: "undocumented", failedBeforeEffect: "undocumented", declined: "undocumented" },
  retentionMs: "undocumented",
  afterRetention: "undocumented",
  leaseMs: "undocumented",
  internalHeaders: [],
  levels: {},
};

/** Keeps a key for one hour; another payload or another endpoint is 400. */
import type { Contract } from "../contract.ts";

export const mollie: Contract = {
  id: "mollie",
  title: "Mollie",
  source: "https://docs.mollie.com/overview/api-idempotency",
  asOf: "2026-12-01",
  key: {
    placement: { header: "Idempotency-Key" },
    maxLength: "undocumented",
    missing: "executes",
    malformed: "undocumented",
    caseSensitive: "undocumented",
    format: "visible-ascii",
  },
  scope: { caller: "undocumented", endpoint: ["mismatch"], query: "undocumented" },
  fingerprint: "undocumented",
  replay: { body: "verbatim", statuses: [], headers: [], marker: { header: "idempotent-replayed", value: "true" } },
  inFlight: { answers: [{ status: 409 }], retryAfter: "optional" },
  mismatch: [{ status: 400 }],
  mismatchInFlight: [{ status: 400 }, { status: 409 }],
  stored: { validation: "undocumented", failedBeforeEffect: "undocumented", declined: "undocumented" },
  retentionMs: 3_600_000,
  afterRetention: ["new"],
  leaseMs: "undocumented",
  internalHeaders: ["idempotent-replayed"],
  levels: {},
};

/** Stores what an endpoint answered once it began to execute, a 500 included; validation errors and conflicts are not stored. */
import type { Contract } from "../contract.ts";

export const stripeV1: Contract = {
  id: "stripe-v1",
  title: "Stripe API v1",
  source: "https://docs.stripe.com/api/idempotent_requests",
  asOf: "2026-12-01",
  key: {
    placement: { header: "Idempotency-Key" },
    maxLength: 255,
    missing: "executes",
    malformed: "undocumented",
    caseSensitive: "undocumented",
    format: "visible-ascii",
  },
  scope: { caller: "undocumented", endpoint: ["mismatch"], query: "undocumented" },
  fingerprint: "canonical",
  replay: { body: "verbatim", statuses: [], headers: [], marker: { header: "idempotent-replayed", value: "true" } },
  inFlight: { answers: [{ status: 409 }], retryAfter: "optional" },
  mismatch: [{ status: 400 }],
  mismatchInFlight: [{ status: 400 }, { status: 409 }],
  stored: { validation: ["released"], failedBeforeEffect: ["stored"], declined: ["stored"] },
  retentionMs: 86_400_000,
  afterRetention: ["new"],
  leaseMs: "undocumented",
  internalHeaders: ["idempotent-replayed"],
  levels: {},
};

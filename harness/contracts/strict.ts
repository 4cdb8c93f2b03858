/** The project's own profile: the whole lifecycle of the reference target, every promise spelled out. */
import type { Contract } from "../contract.ts";

export const strict: Contract = {
  id: "strict",
  title: "The complete lifecycle",
  source: "harness/README.md",
  asOf: "2026-12-01",
  key: {
    placement: { header: "Idempotency-Key" },
    maxLength: 255,
    missing: [{ status: 400 }],
    malformed: [{ status: 400 }],
    caseSensitive: true,
    format: "visible-ascii",
  },
  scope: { caller: ["separate"], endpoint: ["separate"], query: ["separate"] },
  fingerprint: "canonical",
  replay: {
    body: "verbatim",
    statuses: [],
    headers: ["content-type", "location"],
    marker: { header: "idempotency-replayed", value: "true" },
  },
  inFlight: { answers: [{ status: 409 }], retryAfter: "required" },
  mismatch: [{ status: 422 }],
  mismatchInFlight: [{ status: 422 }, { status: 409 }],
  stored: { validation: ["stored"], failedBeforeEffect: ["released"], declined: ["stored"] },
  retentionMs: 86_400_000,
  afterRetention: ["new"],
  leaseMs: 60_000,
  internalHeaders: ["idempotency-replayed"],
  levels: { "no-blind-reexecution": "must" },
};

/** The expired IETF draft: 400, 422 and 409 are its words (section 2.7); lease, retention, scope and stored errors it leaves to the resource. */
import type { Contract } from "../contract.ts";

export const ietf07: Contract = {
  id: "ietf-07",
  title: "IETF draft, Idempotency-Key header, version 07",
  source: "https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/",
  asOf: "2026-12-01",
  key: {
    placement: { header: "Idempotency-Key" },
    maxLength: "undocumented",
    missing: [{ status: 400 }],
    malformed: "undocumented",
    caseSensitive: "undocumented",
    format: "visible-ascii",
  },
  scope: { caller: "undocumented", endpoint: "undocumented", query: "undocumented" },
  fingerprint: "undocumented",
  replay: { body: "verbatim", statuses: [], headers: [], marker: null },
  inFlight: { answers: [{ status: 409 }], retryAfter: "optional" },
  mismatch: [{ status: 422 }],
  mismatchInFlight: [{ status: 422 }, { status: 409 }],
  stored: { validation: "undocumented", failedBeforeEffect: "undocumented", declined: "undocumented" },
  retentionMs: "undocumented",
  afterRetention: "undocumented",
  leaseMs: "undocumented",
  internalHeaders: [],
  levels: {},
};

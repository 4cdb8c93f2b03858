/** Only the key counts: the input of a retry is disregarded. */
import type { Contract } from "../contract.ts";

export const klarnaOm: Contract = {
  id: "klarna-om",
  title: "Klarna Order Management",
  source: "https://docs.klarna.com/api/escalation-and-retry-policy/",
  asOf: "2026-12-01",
  key: {
    placement: { header: "Klarna-Idempotency-Key" },
    maxLength: "undocumented",
    missing: "executes",
    malformed: "undocumented",
    caseSensitive: "undocumented",
    format: "visible-ascii",
  },
  scope: { caller: "undocumented", endpoint: "undocumented", query: "undocumented" },
  fingerprint: "none",
  replay: { body: "verbatim", statuses: [], headers: [], marker: null },
  inFlight: { answers: "undocumented", retryAfter: "optional" },
  mismatch: "undocumented",
  mismatchInFlight: "undocumented",
  stored: { validation: "undocumented", failedBeforeEffect: "undocumented", declined: "undocumented" },
  retentionMs: 86_400_000,
  afterRetention: "undocumented",
  leaseMs: "undocumented",
  internalHeaders: [],
  levels: {},
};

/** A guideline: the response is stored whether it succeeded or failed, and a changed request is 400. */
import type { Contract } from "../contract.ts";

export const zalando: Contract = {
  id: "zalando",
  title: "Zalando REST guideline 230",
  source: "https://opensource.zalando.com/restful-api-guidelines/#230",
  asOf: "2026-12-01",
  key: {
    placement: { header: "Idempotency-Key" },
    maxLength: "undocumented",
    missing: "executes",
    malformed: "undocumented",
    caseSensitive: "undocumented",
    format: "visible-ascii",
  },
  scope: { caller: "undocumented", endpoint: "undocumented", query: "undocumented" },
  fingerprint: "undocumented",
  replay: { body: "verbatim", statuses: [], headers: [], marker: null },
  inFlight: { answers: "undocumented", retryAfter: "optional" },
  mismatch: [{ status: 400 }],
  mismatchInFlight: "undocumented",
  stored: { validation: ["stored"], failedBeforeEffect: ["stored"], declined: "undocumented" },
  retentionMs: 86_400_000,
  afterRetention: ["new"],
  leaseMs: "undocumented",
  internalHeaders: [],
  levels: {},
};

/** A replay shows the current state, and its status is 200 where the first was 201. */
import type { Contract } from "../contract.ts";

export const paypalOrdersV2: Contract = {
  id: "paypal-orders-v2",
  title: "PayPal Orders v2",
  source: "https://developer.paypal.com/api/rest/reference/idempotency/",
  asOf: "2026-12-01",
  key: {
    placement: { header: "PayPal-Request-Id" },
    maxLength: 108,
    missing: "undocumented",
    malformed: "undocumented",
    caseSensitive: "undocumented",
    format: "visible-ascii",
  },
  scope: { caller: "undocumented", endpoint: ["separate"], query: "undocumented" },
  fingerprint: "undocumented",
  replay: { body: "current-state", statuses: [200], headers: [], marker: null },
  inFlight: { answers: [{ status: 409 }], retryAfter: "optional" },
  mismatch: "undocumented",
  mismatchInFlight: "undocumented",
  stored: { validation: "undocumented", failedBeforeEffect: ["released"], declined: "undocumented" },
  retentionMs: 21_600_000,
  afterRetention: "undocumented",
  leaseMs: "undocumented",
  internalHeaders: [],
  levels: {},
};

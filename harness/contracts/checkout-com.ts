/** Stores 2xx answers only; anything else is attempted again. */
import type { Contract } from "../contract.ts";

export const checkoutCom: Contract = {
  id: "checkout-com",
  title: "Checkout.com",
  source: "https://www.checkout.com/docs/payments/manage-payments/idempotency",
  asOf: "2026-12-01",
  key: {
    placement: { header: "Cko-Idempotency-Key" },
    maxLength: "undocumented",
    missing: "executes",
    malformed: "undocumented",
    caseSensitive: "undocumented",
    format: "visible-ascii",
  },
  scope: { caller: "undocumented", endpoint: "undocumented", query: "undocumented" },
  fingerprint: "undocumented",
  replay: { body: "verbatim", statuses: [], headers: [], marker: null },
  inFlight: { answers: [{ status: 409 }], retryAfter: "optional" },
  mismatch: "undocumented",
  mismatchInFlight: "undocumented",
  stored: { validation: ["released"], failedBeforeEffect: ["released"], declined: "undocumented" },
  retentionMs: 86_400_000,
  afterRetention: ["new"],
  leaseMs: "undocumented",
  internalHeaders: [],
  levels: {},
};

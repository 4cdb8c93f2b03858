import { expect, test } from "vitest";
import { reconcilerSettingsOf, settingsOf } from "./settings.ts";

const least = { PORT: "8080", DATABASE_URL: "postgres://localhost/orders", CALLERS: "alice-token=alice" };

test("everything but port, database and callers has a value that suits production", () => {
  expect(settingsOf(least)).toEqual({
    port: 8080,
    http2Port: null,
    databaseUrl: "postgres://localhost/orders",
    callers: { "alice-token": "alice" },
    leaseMs: 60_000,
    retentionMs: 86_400_000,
    cleanUpEveryMs: 60_000,
    cleanUpBatchRows: 500,
    workMs: 0,
    poolSize: 10,
    keyStore: "table",
    fingerprintVersion: 1,
    way: "two-transactions",
    processorUrl: null,
    processorTimeoutMs: 10_000,
    reconcileEveryMs: 10_000,
    reconcileTries: 10,
    replica: "",
    failpointsUrl: null,
    lab: false,
  });
});

test("the lab has to be turned on by its name", () => {
  expect(settingsOf({ ...least, LAB: "true" }).lab).toBe(false);
  expect(settingsOf({ ...least, LAB: "on" }).lab).toBe(true);
});

test("failpoints are asked for only where the lab is on", () => {
  const FAILPOINTS_URL = "http://127.0.0.1:1/";
  expect(settingsOf({ ...least, FAILPOINTS_URL }).failpointsUrl).toBeNull();
  expect(settingsOf({ ...least, FAILPOINTS_URL, LAB: "on" }).failpointsUrl).toBe(FAILPOINTS_URL);
  expect(settingsOf({ ...least, FAILPOINTS_URL: "", LAB: "on" }).failpointsUrl).toBeNull();
});

test("the processor's timeout is shorter than the lease, unsaid or said", () => {
  expect(settingsOf({ ...least, LEASE_MS: "1000" }).processorTimeoutMs).toBe(500);
  expect(settingsOf({ ...least, PROCESSOR_TIMEOUT_MS: "59999" }).processorTimeoutMs).toBe(59_999);
  expect(() => settingsOf({ ...least, PROCESSOR_TIMEOUT_MS: "60000" })).toThrow(
    "PROCESSOR_TIMEOUT_MS: found 60000, expected less than LEASE_MS, which is 60000",
  );
});

test("the reconciler takes the service's settings, and needs a processor but no port and no callers", () => {
  const { DATABASE_URL } = least;
  const env = { DATABASE_URL, PROCESSOR_URL: "http://127.0.0.1:2", RECONCILE_EVERY_MS: "100", RECONCILE_TRIES: "2" };
  expect(reconcilerSettingsOf(env)).toMatchObject({
    processorUrl: "http://127.0.0.1:2",
    leaseMs: 60_000,
    reconcileEveryMs: 100,
    reconcileTries: 2,
  });
  expect(() => reconcilerSettingsOf({ DATABASE_URL })).toThrow("PROCESSOR_URL is not set");
});

test.each([
  ["PORT", undefined, "PORT: found nothing, expected a number"],
  ["LEASE_MS", "soon", "LEASE_MS: found soon, expected a number"],
  ["DATABASE_URL", "", "DATABASE_URL is not set"],
  ["CALLERS", undefined, "CALLERS is not set"],
  ["FINGERPRINT_VERSION", "3", "FINGERPRINT_VERSION: found 3, expected 1 or 2"],
  ["KEY_STORE", "memory", "KEY_STORE: found memory, expected table or partitioned"],
  ["WAY", "one", "WAY: found one, expected two-transactions or one-transaction"],
])("a setting that cannot be used names itself: %s", (name, value, message) => {
  expect(() => settingsOf({ ...least, [name]: value })).toThrow(message);
});

test("both key stores can be named", () => {
  expect(settingsOf({ ...least, KEY_STORE: "partitioned" }).keyStore).toBe("partitioned");
  expect(settingsOf({ ...least, KEY_STORE: "table" }).keyStore).toBe("table");
});

test("every algorithm of fingerprints can be named", () => {
  expect(settingsOf({ ...least, FINGERPRINT_VERSION: "1" }).fingerprintVersion).toBe(1);
  expect(settingsOf({ ...least, FINGERPRINT_VERSION: "2" }).fingerprintVersion).toBe(2);
});

test("both ways can be named, and one transaction not together with partitions", () => {
  expect(settingsOf({ ...least, WAY: "two-transactions" }).way).toBe("two-transactions");
  expect(settingsOf({ ...least, WAY: "one-transaction" }).way).toBe("one-transaction");
  expect(() => settingsOf({ ...least, WAY: "one-transaction", KEY_STORE: "partitioned" })).toThrow(
    "WAY: one-transaction is there for KEY_STORE=table only",
  );
});

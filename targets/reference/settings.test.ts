import { expect, test } from "vitest";
import { settingsOf } from "./settings.ts";

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
    workMs: 0,
    poolSize: 10,
    keyStore: "table",
    lab: false,
  });
});

test("the lab has to be turned on by its name", () => {
  expect(settingsOf({ ...least, LAB: "true" }).lab).toBe(false);
  expect(settingsOf({ ...least, LAB: "on" }).lab).toBe(true);
});

test.each([
  ["PORT", undefined, "PORT: found nothing, expected a number"],
  ["LEASE_MS", "soon", "LEASE_MS: found soon, expected a number"],
  ["DATABASE_URL", "", "DATABASE_URL is not set"],
  ["CALLERS", undefined, "CALLERS is not set"],
  ["KEY_STORE", "memory", "KEY_STORE: found memory, expected table or partitioned"],
])("a setting that cannot be used names itself: %s", (name, value, message) => {
  expect(() => settingsOf({ ...least, [name]: value })).toThrow(message);
});

test("both key stores can be named", () => {
  expect(settingsOf({ ...least, KEY_STORE: "partitioned" }).keyStore).toBe("partitioned");
  expect(settingsOf({ ...least, KEY_STORE: "table" }).keyStore).toBe("table");
});

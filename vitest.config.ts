import { defineConfig } from "vitest/config";

/** Tests run as built: what is tested is what ships, and processes that tests start are the real ones. */
export default defineConfig({
  test: {
    include: ["dist/**/*.test.js"],
    // Each file may bring up a database and a target; two cores carry three of them, since most of the time is waiting.
    maxWorkers: 3,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});

import { defineConfig } from "vitest/config";

/** Tests run as built: what is tested is what ships, and processes that tests start are the real ones. */
export default defineConfig({
  test: {
    include: ["dist/**/*.test.js"],
    // Each file may bring up a database and a target; two cores carry two of them.
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});

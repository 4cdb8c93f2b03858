import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { isSkewed, skewedClock } from "./skewed-clock.ts";

const HOUR_MS = 3_600_000;
const variables = skewedClock();

test.skipIf(variables === null)("a process with them is more than a day ahead, and its timers are right", () => {
  const program = "const t = Date.now(); setTimeout(() => console.log(t, Math.round(performance.now())), 300)";
  const began = Date.now();
  const { stdout } = spawnSync(process.execPath, ["-e", program], {
    env: { ...process.env, ...variables },
    encoding: "utf8",
    timeout: 20_000,
  });
  const [clock = 0, ranMs = 0] = stdout.trim().split(" ").map(Number);
  expect(Math.round((clock - began) / HOUR_MS)).toBe(25);
  expect(ranMs).toBeGreaterThanOrEqual(290);
  expect(ranMs).toBeLessThan(20_000);
});

const hasPython = spawnSync("python3", ["--version"]).status === 0;

test.skipIf(variables === null || !hasPython)("Python, which sleeps until a moment of its own, can sleep", () => {
  const { status, stderr } = spawnSync("python3", ["-c", "import time; time.sleep(0.01)"], {
    env: { ...process.env, ...variables },
    encoding: "utf8",
    timeout: 20_000,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

test("what a process says of the time shows whether its clock was moved", () => {
  const now = new Date("2026-12-01T12:00:00Z");
  expect(isSkewed(new Date("2026-12-02T13:00:00Z"), now)).toBe(true);
  expect(isSkewed(new Date("2026-12-01T12:00:01Z"), now)).toBe(false);
});

test("without the library there are none", () => {
  expect(skewedClock(null)).toBeNull();
});

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("the benchmark judges what it wrote and ends with the ratio; how fast it was is not asserted", async () => {
  const program = fileURLToPath(new URL("./check.js", import.meta.url));
  const sizes = ["--rounds", "1", "--attempts", "60000", "--seed", "7"];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...sizes]);
  expect(stderr).toBe("");
  const lines = stdout.trimEnd().split("\n");
  // One key in 5,000 executed twice, and nothing else is wrong.
  expect(lines).toContain('verdict: fail, {"at-most-one-effect":1}');
  expect(lines.filter((line) => line.startsWith("judged "))).toHaveLength(1);
  expect(stdout).toMatch(/hot \/ cold: \d+\.\d\d/);
  expect(lines.at(-1)).toMatch(/^ratio: \d+\.\d{3}$/);
});

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("the benchmark measures every way and ends with the ratio; how fast it was is not asserted", async () => {
  const program = fileURLToPath(new URL("./burst.js", import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, "--rounds", "2", "--seed", "7"]);
  expect(stderr).toBe("");
  const lines = stdout.trimEnd().split("\n");
  for (const way of ["last-body-byte", "last-header-byte", "http2", "autocannon", "undici Promise.all"]) {
    expect(lines.filter((line) => line.startsWith(`${way} `))).toHaveLength(1);
  }
  expect(stdout).toContain("50 requests were released in 1 TCP segment(s)");
  expect(lines.at(-1)).toMatch(/^ratio: \d+\.\d{3}$/);
});

import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";

const program = fileURLToPath(new URL("./load.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "idemproof-load-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

test.skipIf(!hasWrk())(
  "the benchmark loads both targets beside wrk, finds every attempt in the history and ends with the ratio; how fast it was is not asserted",
  async () => {
    const size = ["--rounds", "2", "--seconds", "1", "--connections", "10", "--rate", "200"];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...size]);
    expect(stderr).toBe("");
    const lines = stdout.trimEnd().split("\n");
    for (const target of ["trivial server", "reference"]) {
      expect(lines.filter((line) => line.startsWith(`${target} round `))).toHaveLength(2);
      expect(stdout).toMatch(new RegExp(`^${target}: every one of [1-9]\\d* attempts is in the history`, "m"));
    }
    expect(stdout).toMatch(/^open loop at 200 a second: late by p50 [\d.]+ ms, p99 [\d.]+ ms, max [\d.]+ ms/m);
    expect(lines.at(-2)).toMatch(/^ratio at the reference: \d+\.\d{3}$/);
    expect(lines.at(-1)).toMatch(/^ratio: \d+\.\d{3}$/);
  },
);

test("without wrk it says how to get it, and ends with 2", async () => {
  const ran = await promisify(execFile)(process.execPath, [program], { env: { PATH: folder } }).catch((error) => error);
  expect(ran).toMatchObject({
    code: 2,
    stderr: "wrk was not found: install it, for example by `apt-get install wrk`\n",
  });
});

function hasWrk(): boolean {
  try {
    execFileSync("sh", ["-c", "command -v wrk"]);
    return true;
  } catch {
    return false;
  }
}

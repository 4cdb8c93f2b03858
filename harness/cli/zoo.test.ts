import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { idemproof } from "../testing/command.ts";
import type { KillMatrix } from "../zoo.ts";
import { zooTargets } from "./targets.ts";

const zoo = await zooTargets();
let directory = "";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "idemproof-zoo-"));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

describe("the harness can see", () => {
  test.each(zoo.map(({ id }) => id))(
    "%s is caught by what it declares and by nothing else; the reference is not accused",
    async (id) => {
      const { stdout, stderr, code } = await idemproof([
        "zoo",
        "--target",
        id,
        "--quick",
        "--json",
        "--report-dir",
        directory,
      ]);
      expect(stdout, stderr).not.toBe("");
      const { targets, reference } = JSON.parse(stdout) as KillMatrix;
      expect(targets).toMatchObject([{ id, caught: true, missed: [], undeclared: [] }]);
      expect(reference).toMatchObject({ accused: false, verdict: "pass" });
      expect(code).toBe(0);
    },
  );

  test("the zoo is not empty", () => {
    expect(zoo.length).toBeGreaterThanOrEqual(8);
  });
});

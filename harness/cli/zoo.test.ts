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

/** One run of the whole zoo, since each run of the reference costs as much as one of a broken target. */
let matrix: KillMatrix;

beforeAll(async () => {
  const { stdout, stderr } = await idemproof(["zoo", "--quick", "--json", "--report-dir", directory]);
  expect(stdout, stderr).not.toBe("");
  matrix = JSON.parse(stdout) as KillMatrix;
}, 900_000);

describe("the harness can see", () => {
  test.each(zoo.map(({ id }) => id))("%s is caught by what it declares and by nothing else", (id) => {
    expect(matrix.targets.find((target) => target.id === id)).toMatchObject({
      caught: true,
      missed: [],
      undeclared: [],
    });
  });

  test("the reference is not accused", () => {
    expect(matrix.reference).toMatchObject({ accused: false, verdict: "pass", reasons: [] });
  });

  test("the zoo is not empty", () => {
    expect(zoo.length).toBeGreaterThanOrEqual(23);
  });
});

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { idemproof } from "../testing/command.ts";
import type { KillMatrix } from "../zoo.ts";
import { zooTargets } from "./targets.ts";

const zoo = await zooTargets();
/** One of a race, one of a lease, one of a processor. CI runs them all: `idemproof zoo --quick`. */
const SOME = ["check-then-act", "takeover-without-fencing", "release-on-timeout"];
let directory = "";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "idemproof-zoo-"));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

/** One run of all of them, since each has the reference beside it. */
let matrix: KillMatrix;

beforeAll(async () => {
  const { stdout, stderr } = await idemproof([
    "zoo",
    "--quick",
    "--json",
    "--target",
    SOME.join(","),
    "--report-dir",
    directory,
  ]);
  expect(stdout, stderr).not.toBe("");
  matrix = JSON.parse(stdout) as KillMatrix;
}, 900_000);

describe("the harness can see", () => {
  test.each(SOME)("%s is caught by what it declares and by nothing else", (id) => {
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

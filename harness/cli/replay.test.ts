import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Report, reportSchema } from "../report.ts";
import { idemproof, PROJECT, type Ran } from "../testing/command.ts";

const ID = "at-most-one-effect.1";
const TARGET = "targets/zoo/check-then-act";
let directory = "";
let path = "";
let report: Report;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "idemproof-replay-"));
  path = join(directory, "run", "report.json");
  const only = ["--only", "duplicates-at-once,retry-after-answer"];
  const size = ["--rounds", "3", "--concurrency", "10", "--seed", "7"];
  await idemproof(["run", TARGET, ...size, ...only, "--report-dir", join(directory, "run")]);
  report = await reportAt(path);
});

afterAll(() => rm(directory, { recursive: true, force: true }));

async function reportAt(file: string): Promise<Report> {
  return reportSchema.parse(JSON.parse(await readFile(file, "utf8")));
}

function replay(args: readonly string[]): Promise<Ran> {
  return idemproof(["replay", ...args, "--report-dir", join(directory, "replay")]);
}

/** The report of the run with something exchanged in it. */
async function reportWith(name: string, changes: object): Promise<string> {
  const file = join(directory, `${name}.json`);
  await writeFile(file, JSON.stringify({ ...report, ...changes }));
  return file;
}

test("a violation of check-then-act fails again, by the plan of the run, and each run leaves its report", async () => {
  const { code, stdout, stderr } = await replay([path, ID, "--times", "2"]);
  expect(stderr).toContain("\nrepeat 2 of 2: starting PostgreSQL\n");
  expect(stderr).toContain("[1/1] repeat 2 of 2: ");
  expect(stdout).toContain("the whole of the scenario duplicates-at-once");
  expect(stdout).toContain("seed 7, 3 rounds");
  expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^failed again in [12] of 2$/);
  expect(code).toBe(1);
  const again = await reportAt(join(directory, "replay", "2", "report.json"));
  expect(again).toMatchObject({ seed: 7, recipe: { size: report.recipe?.size, digest: report.recipe?.digest } });
  expect(again.scenarios.map(({ id }) => id)).toEqual(["duplicates-at-once"]);
});

test("a target that was repaired meanwhile holds, and the replay says so", async () => {
  const repaired = await idemproof([
    ...["run", "--only", "duplicates-at-once", "--rounds", "3", "--concurrency", "10", "--seed", "7"],
    ...["--report-dir", join(directory, "repaired")],
  ]);
  expect(repaired.code).toBe(0);
  const passed = join(directory, "repaired", "report.json");
  expect(await replay([passed, ID])).toMatchObject({ code: 2, stderr: expect.stringContaining("found no violation") });
  const { recipe } = await reportAt(passed);
  const { code, stdout } = await replay([
    await reportWith("of-the-repaired", { recipe }),
    ID,
    "--times",
    "1",
    "--json",
  ]);
  expect(JSON.parse(stdout)).toMatchObject({
    violation: ID,
    scenario: "duplicates-at-once",
    seed: 7,
    verdict: "pass",
    times: 1,
    failed: 0,
    held: 1,
    repeats: [{ result: "held" }],
  });
  expect(code).toBe(0);
});

test("an interrupted replay says how far it came", async () => {
  const main = join(import.meta.dirname, "main.js");
  const args = [main, "replay", path, ID, "--report-dir", join(directory, "interrupted")];
  const child = spawn(process.execPath, args, { cwd: PROJECT, stdio: ["ignore", "pipe", "ignore"] });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (!stdout.includes("  1/10") && (stdout + text).includes("  1/10")) child.kill("SIGINT");
    stdout += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  expect(stdout).toContain("interrupted after 1 of 10");
  expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^failed again in [01] of 1$/);
  expect(code).toBe(130);
});

describe("is a usage error in plain words:", () => {
  test("an id that the report does not hold, with the ids that it does", async () => {
    const { code, stderr } = await replay([path, "invented.1"]);
    expect(stderr).toContain("found no violation invented.1, expected one of");
    expect(stderr).toContain(`${ID}  in duplicates-at-once`);
    expect(code).toBe(2);
  });

  test.each<[string, () => Promise<string>, string]>([
    ["a report that accuses nobody", () => reportWith("clean", { invariants: [] }), "found no violation, expected"],
    ["no report at all", () => Promise.resolve(join(directory, "none.json")), "the report cannot be read"],
    ["a history", () => Promise.resolve(join(directory, "run", "history.ndjson")), "expected a report.json"],
    ["other JSON", () => Promise.resolve(join(PROJECT, "package.json")), "expected a report.json"],
    [
      "a report of another format",
      () => reportWith("newer", { format: 2 }),
      "found a report of format 2, expected format 1",
    ],
    [
      "a report of another version",
      () => reportWith("odd", { recipe: undefined }),
      "replay it with the version that wrote it",
    ],
    [
      "a report without a recipe",
      () => reportWith("bare", { recipe: null }),
      "does not say how its run is played again",
    ],
    ["a target file that is gone", () => reportFrom("gone", "no/such/target"), "the target file cannot be read"],
    [
      "a target file that has changed",
      () => reportFrom("changed", "targets/zoo/no-fingerprint"),
      "has changed since the run",
    ],
  ])("%s", async (_, file, words) => {
    const { code, stderr } = await replay([await file(), ID]);
    expect(stderr).toContain(words);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(code).toBe(2);
  });

  function reportFrom(name: string, place: string): Promise<string> {
    return reportWith(name, { recipe: { ...report.recipe, source: { kind: "file", path: place } } });
  }
});

test("a target named by --url is replayed with its headers given again, and no file holds them", async () => {
  const secret = "alice-secret-1999";
  let created = 0;
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const isAlice = request.headers.authorization === `Bearer ${secret}`;
      response.writeHead(isAlice ? 201 : 401, { "content-type": "application/json" });
      created += 1;
      response.end(JSON.stringify({ id: created }));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const run = join(directory, "direct");
  const header = ["--header", `authorization: Bearer ${secret}`];
  await idemproof([
    ...["run", "--url", `http://127.0.0.1:${port}`, "--request", "POST /orders", "--body", `{"amount":1}`],
    ...["--outcome", "/amount", ...header, "--only", "retry-after-answer", "--report-dir", run],
  ]);
  const file = join(run, "report.json");
  expect(await readFile(file, "utf8")).not.toContain(secret);

  const asked = await replay([file, "replay-is-identical.1"]);
  expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining("--header 'authorization: …'") });
  const given = await replay([file, "replay-is-identical.1", ...header, "--times", "1"]);
  expect(given.stdout.trimEnd().split("\n").at(-1)).toBe("failed again in 1 of 1");
  expect(given.code).toBe(1);
  const other = await replay([file, "replay-is-identical.1", ...header, "--body", '{"amount":2}']);
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining("has changed since the run") });
  server.close();
});

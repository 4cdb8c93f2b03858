import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { reportSchema } from "../report.ts";
import { ReportDirectory } from "../report-directory.ts";
import { idemproof, PROJECT, type Ran } from "../testing/command.ts";

let directory = "";
let ran: Ran = { code: null, stdout: "", stderr: "" };

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "idemproof-commands-"));
  const only = ["--only", "retry-after-answer,duplicates-at-once"];
  ran = await idemproof(["run", "--rounds", "3", "--seed", "7", "--report-dir", join(directory, "run"), ...only]);
});

afterAll(() => rm(directory, { recursive: true, force: true }));

test("a run of the reference passes, with progress on stderr and the summary last on stdout", () => {
  expect(ran.code).toBe(0);
  expect(ran.stderr).toContain("[1/2]");
  expect(ran.stdout).toMatch(/PASS {2}\d+ invariants hold, 0 violated/);
  expect(ran.stdout.trimEnd().split("\n").at(-1)).toMatch(/^reports in /);
});

test("nothing but text is written where no terminal is", () => {
  expect(`${ran.stdout}${ran.stderr}`).not.toContain("\u001b");
});

test("a run leaves its history, three reports and the logs", async () => {
  expect((await readdir(join(directory, "run"))).sort()).toEqual([
    "history.ndjson",
    "junit.xml",
    "logs",
    "report.json",
    "report.md",
  ]);
  const report: unknown = JSON.parse(await readFile(join(directory, "run", "report.json"), "utf8"));
  expect(reportSchema.parse(report)).toMatchObject({ verdict: "pass", seed: 7, target: "reference" });
});

test.each([["run"], ["zoo"], ["bench"]])("%s does not write where another process is writing", async (command) => {
  const path = join(directory, `claimed-by-${command}`);
  await using _ = await ReportDirectory.claim(path);
  const { code, stdout, stderr } = await idemproof([command, "--report-dir", path]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(`is being written by process ${process.pid} (`);
  expect(stderr).toContain("wait for it or give another --report-dir");
  expect(await readdir(path)).toEqual(["writing"]);
});

test("check gives the verdicts of the run again, invariant by invariant", async () => {
  const again = await idemproof(["check", join(directory, "run", "history.ndjson"), "--json"]);
  const first: unknown = JSON.parse(await readFile(join(directory, "run", "report.json"), "utf8"));
  expect(JSON.parse(again.stdout)).toEqual(first);
  expect(again.code).toBe(0);
});

test("a history cut in mid-line is inconclusive, and says why", async () => {
  const whole = await readFile(join(directory, "run", "history.ndjson"), "utf8");
  const cut = join(directory, "cut.ndjson");
  await writeFile(cut, whole.slice(0, whole.length / 2));
  const { code, stdout } = await idemproof(["check", cut]);
  expect(code).toBe(3);
  expect(stdout).toContain("the history ends before the run does");
});

test("an event of an unknown type is named and changes no verdict", async () => {
  const whole = await readFile(join(directory, "run", "history.ndjson"), "utf8");
  const file = join(directory, "newer.ndjson");
  await writeFile(file, `${whole}{"type":"moon","at":1}\n`);
  const { code, stdout } = await idemproof(["check", file]);
  expect(stdout).toContain('1 event(s) of the unknown type "moon" were passed over');
  expect(code).toBe(0);
});

test("an empty history is inconclusive, a missing one and a foreign file are usage errors", async () => {
  const empty = join(directory, "empty.ndjson");
  await writeFile(empty, "");
  expect(await idemproof(["check", empty])).toMatchObject({
    code: 3,
    stdout: expect.stringContaining("nothing was looked at"),
  });
  expect(await idemproof(["check", join(directory, "none")])).toMatchObject({ code: 2, stdout: "" });
  const foreign = await idemproof(["check", join(PROJECT, "LICENSE")]);
  expect(foreign).toMatchObject({ code: 2, stderr: expect.stringContaining("expected a history.ndjson") });
});

test("list names every scenario that lies in the folder", async () => {
  const { stdout } = await idemproof(["list", "--json"]);
  const lists = JSON.parse(stdout) as Record<string, { id: string }[]>;
  const files = (await readdir(join(PROJECT, "scenarios"))).filter(
    (name) => name.endsWith(".ts") && !name.includes(".test."),
  );
  expect(lists["scenarios"]?.map(({ id }) => `${id}.ts`)).toEqual(files.sort());
  expect(lists["targets"]?.map(({ id }) => id)).toContain("reference");
});

test("list contracts says what each of them promises, in the words of a target file", async () => {
  const { stdout } = await idemproof(["list", "contracts"]);
  expect(stdout).toMatch(/^ {2}strict +The complete lifecycle .*\n {4}key\.placement +\{ header: Idempotency-Key \}$/m);
  expect(stdout).toMatch(/^ {4}mismatchInFlight +\[ 422, 409 \]$/m);
  expect(stdout).toMatch(/^ {4}stored\.failedBeforeEffect +\[ released \]$/m);
  expect(stdout).toMatch(/^ {4}replay\.marker +\{ header: idempotency-replayed, value: "true" \}$/m);
  const { contracts } = JSON.parse((await idemproof(["list", "contracts", "--json"])).stdout) as {
    contracts: { id: string; promises: object }[];
  };
  expect(contracts[0]).toMatchObject({ id: "strict", promises: { mismatch: [{ status: 422 }], leaseMs: 60_000 } });
});

test.each([
  [["fly"], "unknown command 'fly'"],
  [["run", "--only", "nothing"], "expected scenarios out of"],
  [["run", "--rounds", "0"], "Expected a whole number from 1 to"],
  [["run", "no-such.yaml"], "no-such.yaml: the target file cannot be read"],
  [["run", "--url", "http://example.com", "--request", "POST /orders"], "--allow-host example.com"],
  [["run", "--url", "nonsense", "--request", "POST /orders"], "urls"],
  [["run", "--url", "http://127.0.0.1:1", "--request", "orders"], "expected a method and a path"],
  [["run", "--url", "http://127.0.0.1:1", "--request", "POST /orders"], "ECONNREFUSED"],
  [
    ["run", "--url", "http://127.0.0.1:1", "--request", "POST /", "--body", "@no-such-file"],
    "no-such-file cannot be read",
  ],
  [["run", "targets/reference", "--contract", "strict"], "found --contract without --url, which it goes with"],
  [["run", "--request", "POST /", "--body", "{}"], "found --request, --body without --url, which they go with"],
  [
    ["run", "targets/reference", "--url", "http://127.0.0.1:1", "--request", "POST /"],
    "found both the target file targets/reference and --url, expected one of them",
  ],
  [["zoo", "--target", "unicorn"], "expected targets out of"],
])("%j is a usage error in plain words", async (args, words) => {
  const { code, stderr } = await idemproof([
    ...args,
    ...(args[0] === "run" ? ["--report-dir", join(directory, "wrong")] : []),
  ]);
  expect(stderr).toContain(words);
  expect(stderr).not.toMatch(/^\s+at /m);
  expect(code).toBe(2);
});

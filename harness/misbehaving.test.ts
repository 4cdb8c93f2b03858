import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadScenarios } from "./cli/scenarios.ts";
import { invariants } from "./invariants/list.ts";
import type { Judgement } from "./judge.ts";
import { run } from "./run.ts";
import type { Scenario } from "./scenario.ts";
import { readTarget } from "./target-file/target-file.ts";
import { idemproof, type Ran } from "./testing/command.ts";
import { misbehaving, writeTargetFolder } from "./testing/target-folder.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-misbehaving-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Well under a minute, whatever the target does; and twice that where the machine has much else to do. */
const RUN_WITHIN_MS = 90_000;
/** Orders that the plain request and the first bursts take. */
const MID_RUN = 30;

/** A run as its user makes it. */
async function runCommand(behaviour: string, ...args: readonly string[]): Promise<Ran> {
  const place = await writeTargetFolder(join(folder, behaviour), {
    start: { command: misbehaving(behaviour, MID_RUN) },
  });
  const began = performance.now();
  const reports = join(place, "report");
  const ran = await idemproof([
    "run",
    place,
    "--quick",
    "--report-dir",
    reports,
    "--only",
    "duplicates-at-once",
    ...args,
  ]);
  expect(performance.now() - began).toBeLessThan(RUN_WITHIN_MS);
  expect(`${ran.stdout}${ran.stderr}`).not.toMatch(/^\s+at .*:\d+:\d+\)?$/m);
  expect(ran.stderr).not.toContain("bug of idemproof");
  return ran;
}

/** The same without a process of its own: the judgement, or what was thrown. */
async function runHere(
  behaviour: string,
  after: number,
  scenarios: readonly Scenario[],
  parts: Readonly<Record<string, unknown>> = {},
): Promise<unknown> {
  const place = await writeTargetFolder(join(folder, `${behaviour}-here-${after}-${randomUUID()}`), {
    start: { command: misbehaving(behaviour, after) },
    ...parts,
  });
  const target = await readTarget(place);
  const began = performance.now();
  const ended: unknown = await run(target, scenarios, invariants, {
    size: { seed: 1, rounds: 4, samples: 2, concurrency: 50 },
    timeoutMs: 1_500,
    directory: join(place, "report"),
    version: "0",
    command: "test",
    signal: new AbortController().signal,
    progress: { step: () => undefined, scenario: () => undefined },
  }).catch((error: unknown) => error);
  expect(performance.now() - began).toBeLessThan(RUN_WITHIN_MS);
  return ended;
}

describe.concurrent("a target that", () => {
  const lost = "the target was lost in mid-run: the target no longer answers";

  // The longest first: it mostly waits.
  test("falls silent in mid-run is given up well within a minute, at the usual timeout", async () => {
    const { code, stdout } = await runCommand("silent");
    expect(stdout).toContain(`because ${lost}`);
    expect(stdout).not.toMatch(/^PASS/m);
    // Duplicates that hang are a violation of their own.
    expect([1, 3]).toContain(code);
  });

  test("keeps its promises passes: the others fail for what they do", async () => {
    expect(await runCommand("none", "--rounds", "2")).toMatchObject({ code: 0 });
  });

  test.each<[string, string]>([
    ["exits", "got a connection that was closed before the answer, expected 201; replica 0 ended with exit code 3"],
    ["silent", "got no answer within 1500 ms, expected 201; what the target wrote is in the folder logs"],
    ["fails", 'got 500 with {"error":"out of order"}, expected 201; check request, success and callers'],
    ["not-found", 'got 404 with {"error":"unknown"}, expected 201'],
    ["closes", "got a connection that was closed before the answer, expected 201"],
    ["resets", "got a connection that was reset before the answer, expected 201"],
    ["garbage", "got something that is no HTTP answer (Parse Error"],
    ["endless-headers", "expected 201; what the target wrote is in the folder logs"],
    ["endless-body", "got no answer within 1500 ms, expected 201"],
    ["huge", "got an answer too large to be read to its end, expected 201"],
    ["half-an-answer", "got an answer that broke off, expected 201"],
    ["refuses", "expected 201; what the target wrote is in the folder logs"],
    [
      "loses",
      "create was acknowledged, and within 3000 ms the books show no effect whose `operation` is its reference",
    ],
  ])("%s at its first order is not ready, in words", async (behaviour, words) => {
    const error = await runHere(behaviour, 0, []);
    expect(error).toMatchObject({ name: "Failure", code: "not-ready", message: expect.stringContaining(words) });
  });

  describe("keeps key records", () => {
    const records = { http: "GET /ledger", rows: "/records", columns: { key: "/key", state: "/state" } };

    test("under a word of its own for a finished one is not ready until the file says so", async () => {
      expect(await runHere("none", 0, [], { records })).toMatchObject({
        code: "not-ready",
        message: expect.stringMatching(
          /create was acknowledged, and within 2000 ms the record of its key \S+ has the state done, expected one of completed: name the state of a finished request in `records\.completed`/,
        ),
      });
      expect(await runHere("none", 0, [], { records: { ...records, completed: ["done"] } })).toMatchObject({
        history: { attempts: 0 },
      });
    });

    test("elsewhere than the file says is not ready", async () => {
      expect(await runHere("none", 0, [], { records: { ...records, rows: "/none" } })).toMatchObject({
        code: "not-ready",
        message: expect.stringContaining("the books show no record of its key"),
      });
    });
  });

  test.each(["closes", "resets", "garbage", "endless-headers", "endless-body", "huge", "half-an-answer", "refuses"])(
    "%s in mid-run is given up, and nothing of it passes",
    async (behaviour) => {
      const judgement = await runHere(behaviour, MID_RUN, await loadScenarios(["duplicates-at-once"]));
      // Duplicates that hang are a violation of their own.
      expect(["inconclusive", "fail"]).toContain((judgement as Judgement).result);
      expect((judgement as Judgement).reasons.join("\n")).toContain(lost);
    },
  );

  test.each<[string, number, string]>([
    ["exits", 3, "because the target was lost in mid-run: replica 0 ended with exit code 3 (its output is in "],
    ["fails", 1, "FAIL"],
    ["loses", 1, "acknowledged-effect-exists"],
  ])("%s in mid-run is told in words", async (behaviour, code, words) => {
    const ran = await runCommand(behaviour, "--timeout", "2000", "--rounds", "4");
    expect(ran.stdout).toContain(words);
    expect(ran.code).toBe(code);
  });
});

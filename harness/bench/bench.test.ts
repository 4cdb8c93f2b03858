import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { invariants } from "../invariants/list.ts";
import { benchMarkdown } from "../reporters/bench-markdown.ts";
import { differencesPlot, percentilesPlot } from "../reporters/bench-plots.ts";
import { benchTerminal } from "../reporters/bench-terminal.ts";
import type { Target } from "../target.ts";
import { BenchServer, type BenchServerOptions } from "../testing/bench-server.ts";
import { idemproof, type Ran } from "../testing/command.ts";
import { bench } from "./bench.ts";
import type { BenchClass } from "./bench-class.ts";
import { type BenchReport, benchSchema } from "./bench-report.ts";
import type { Load } from "./schedule.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-bench-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const LOAD: Load = { rate: 150, durationMs: 1_200, pace: "exponential", seed: 11 };
/** A test's machine may have much else to do; only the test of lateness is about lateness. */
const ANY_LATENESS = 600_000_000;

async function benchOf(targets: readonly Target[], load: Partial<Load> = {}, lateMicrosMax = ANY_LATENESS) {
  return bench(targets, invariants, {
    load: { ...LOAD, ...load },
    volume: { perDay: 1_000_000, retentionDays: 1, isAssumed: true },
    expired: null,
    choices: { again: true },
    thresholds: [],
    lateMicrosMax,
    timeoutMs: 10_000,
    directory: await mkdtemp(join(folder, "report-")),
    version: "0",
    command: "test",
    signal: new AbortController().signal,
    progress: { step: () => undefined, scenario: () => undefined },
  });
}

async function benchWith(options: BenchServerOptions, load: Partial<Load> = {}, lateMicrosMax?: number) {
  await using server = await BenchServer.start(options);
  return await benchOf([server.target], load, lateMicrosMax);
}

function classIn({ targets }: BenchReport, name: BenchClass, target = 0) {
  const found = targets[target]?.classes.find((one) => one.class === name);
  if (found === undefined) throw new Error(`the report has no ${name}`);
  return found;
}

test("every class is measured, every request judged, and the report has the published form", async () => {
  const report = await benchWith({});
  expect(report.targets[0]).toMatchObject({ verdict: "pass", comparedWith: "baseline", violations: [] });
  // By chance, one A/A in twenty.
  expect(report.reasons.filter((reason) => !reason.includes("A/A"))).toEqual([]);
  const classes = report.targets[0]?.classes ?? [];
  for (const { samples, strayed, unanswered, figures } of classes) {
    expect({ samples, strayed, unanswered }).toEqual({ samples: 30, strayed: 0, unanswered: 0 });
    // A p99 takes 100 samples, and a p99.9 takes 10,000.
    expect(figures.map(({ quantile }) => quantile)).toEqual(["p50", "p90"]);
  }
  expect(classIn(report, "baseline").figures[0]?.difference).toBeNull();
  expect(classIn(report, "first-use").figures[0]?.difference).not.toBeNull();
  expect(report.targets[0]?.againHoldsZero).not.toBeNull();
  expect(report.targets[0]?.attempts).toBeGreaterThan(180);
  expect(report.targets[0]?.costsNote).toContain("${postgres}");
  expect(report.targets[0]?.storageNote).toBe("storage was not measured: tested names no key records (records)");
  expect(benchSchema.parse(JSON.parse(JSON.stringify(report)))).toEqual(report);
});

test("one operation in twenty that is lost makes it fail, however fast it was", async () => {
  const report = await benchWith({ losesEvery: 20 });
  expect(report.result).toBe("fail");
  expect(report.reasons.join()).toContain("tested violates acknowledged-effect-exists");
});

test("a stall is charged to every request that was meant to start during it", async () => {
  const report = await benchWith({ stalls: { atOrder: 60, ms: 1_000 } }, { durationMs: 2_500 });
  const late = report.targets[0]?.classes.flatMap(({ curve, samples }) =>
    curve.map(([share, micros]) => ({ share, micros, samples })),
  );
  expect(Math.max(...(report.targets[0]?.classes ?? []).map(({ maxMicros }) => maxMicros ?? 0))).toBeGreaterThan(
    900_000,
  );
  // Of 2.5 s one was a stall: a fifth of all waited for more than a fifth of it.
  expect(late?.some(({ share, micros }) => share <= 0.85 && micros > 200_000)).toBe(true);
});

test("a generator that was late makes it inconclusive, with words", async () => {
  const report = await benchWith({}, {}, 0);
  expect(report.result).toBe("inconclusive");
  expect(report.reasons[0]).toMatch(/^the generator itself was late: .* ask for a lower --rate$/);
});

test("a rate that the target cannot keep up with is inconclusive, and not slow", async () => {
  const report = await benchWith({ oneByOneMs: 20 }, { rate: 200, durationMs: 2_000 });
  expect(report.result).toBe("inconclusive");
  expect(report.reasons.join()).toContain("the target did not keep up with 200 requests a second");
});

test("without a baseline first use is compared with replay, and the report says so", async () => {
  const report = await benchWith({ hasBaseline: false });
  expect(report.targets[0]?.comparedWith).toBe("replay");
  expect(classIn(report, "baseline").left).toContain("first use is compared with replay");
  expect(classIn(report, "first-use").figures[0]?.difference).not.toBeNull();
  expect(benchTerminal(report, false)).toContain("baseline is not measured: tested names no way around");
});

describe("two targets in one run", () => {
  let report: BenchReport;
  beforeAll(async () => {
    await using one = await BenchServer.start({ name: "one" });
    await using other = await BenchServer.start({ name: "other", hasBaseline: false });
    report = await benchOf([one.target, other.target], { rate: 300 });
  });

  test("are measured equally often, and have a history each", () => {
    expect(classIn(report, "first-use", 0).samples).toBe(classIn(report, "first-use", 1).samples);
    expect(report.targets.map(({ history }) => history)).toEqual(["one/history.ndjson", "other/history.ndjson"]);
  });

  test("stand side by side at the terminal and in the plots", () => {
    const terminal = benchTerminal(report, false);
    expect(terminal).toMatch(/Side by side\n +one +other\n/);
    expect(terminal).toMatch(/first-use p50 +[\d.]+ +[\d.]+\n/);
    const markdown = benchMarkdown(report);
    expect(markdown).toContain("## one");
    expect(markdown).toContain("## other");
    for (const plot of [percentilesPlot(report), differencesPlot(report)]) {
      expect(plot).toMatch(/^<svg [^>]+>[\s\S]+<\/svg>\n$/);
      expect(plot).toContain("other");
      expect(plot).not.toContain("NaN");
    }
  });
});

test("two targets of one name are a mistake in words", async () => {
  await using server = await BenchServer.start();
  await expect(benchOf([server.target, server.target])).rejects.toThrow("two targets of the name tested");
});

describe("the command", () => {
  const ANY = ["--lateness", "600000", "--seed", "3"];
  let ran: Ran;
  beforeAll(async () => {
    const limits = [
      "--threshold",
      "first-use.commits.difference <= 1",
      "--threshold",
      "first-use.statements.difference <= 3",
    ];
    const size = ["--rate", "60", "--duration", "2"];
    ran = await idemproof(["bench", ...size, ...ANY, ...limits, "--report-dir", join(folder, "reference")]);
  });

  test("measures the reference, with its exact costs", async () => {
    expect(ran.stderr).toContain("s left");
    expect(ran.stdout).toMatch(/✓ first-use.commits.difference <= 1 {2}reference: 1,/);
    const report = benchSchema.parse(JSON.parse(await readFile(join(folder, "reference", "bench.json"), "utf8")));
    expect(report.targets[0]?.verdict).toBe("pass");
    expect(classIn(report, "baseline").costs).toMatchObject({ statements: 3, "round-trips": 3, commits: 1 });
    expect(classIn(report, "replay").costs).toMatchObject({
      statements: 1,
      "round-trips": 1,
      commits: 0,
      "wal-bytes": 0,
    });
    // Where the machine stands still for long, a conflict may come when its holder has finished.
    expect(report.reasons.filter((reason) => !reason.includes("answers to conflict"))).toEqual([]);
    expect(ran.code).toBe(report.result === "pass" ? 0 : 3);
  });

  test("leaves its history, its figures and its plots", async () => {
    expect((await readdir(join(folder, "reference"))).sort()).toEqual([
      "bench.json",
      "bench.md",
      "differences.svg",
      "history.ndjson",
      "logs",
      "percentiles.svg",
      "storage.svg",
    ]);
    const again = await idemproof(["check", join(folder, "reference", "history.ndjson")]);
    expect(again.code).toBe(0);
  });

  test("ends with 4 when only a threshold was missed, with 3 when nobody can tell", async () => {
    await using server = await BenchServer.start();
    const file = join(folder, "target.yaml");
    await writeFile(file, JSON.stringify(server.file));
    const size = ["--rate", "100", "--duration", "1", "--report-dir", join(folder, "thresholds")];
    const missed = await idemproof(["bench", file, ...size, ...ANY, "--threshold", "first-use.max < 1us"]);
    expect(missed.stdout).toContain("MISSED");
    expect(missed.code).toBe(4);
    const unknown = await idemproof(["bench", file, ...size, ...ANY, "--threshold", "first-use.p99.9 < 1s"]);
    expect(unknown.stdout).toContain("p99.9 of");
    expect(unknown.code).toBe(3);
  });

  test.each([
    [["--threshold", "first.p50 < 1ms"], "found the unknown class first"],
    [["--operation", "fly"], "--operation: found fly, expected one of reference: create-order"],
    [["--rate", "1", "--duration", "1"], "--rate and --duration: found 1 request(s) in all"],
    [["no-such.yaml"], "no-such.yaml: the target file cannot be read"],
    [["--duration", "0"], "Expected a number of seconds"],
    [["--volume", "fast"], "Found fast, expected a number and a time, such as 2000000/day"],
    [["--retention", "7"], "Found 7, expected a number and a unit, such as 7d"],
    [["--expired", "-1"], "Expected a whole number from 1"],
  ])("%j is a usage error in plain words", async (args, words) => {
    const { code, stderr } = await idemproof(["bench", ...args, "--report-dir", join(folder, "wrong")]);
    expect(stderr).toContain(words);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(code).toBe(2);
  });
});

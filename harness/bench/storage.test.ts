import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { invariants } from "../invariants/list.ts";
import { benchMarkdown } from "../reporters/bench-markdown.ts";
import { benchTerminal } from "../reporters/bench-terminal.ts";
import { storagePlot } from "../reporters/storage-plot.ts";
import { parseTarget } from "../target-file/target-file.ts";
import { bench } from "./bench.ts";
import type { BenchReport } from "./bench-report.ts";

const SERVER = join(import.meta.dirname, "..", "testing", "stored-keys-server.js");
const NOTE_BYTES = 10_000;
const SELECT = "select key, state from keys";
const FILL = `
  insert into keys (key, state, padding, answer, expires_at)
  select '\${prefix}' || number, 'completed', '', '{}', '\${expiresAt}' from generate_series(1, \${count}) number`;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-storage-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Parts {
  readonly name: string;
  readonly env?: Readonly<Record<string, string | number>>;
  readonly records?: object | null;
  readonly hasLarge?: boolean;
}

/** Incompressible for PostgreSQL: no four bytes of it repeat soon. */
const NOTE = Array.from({ length: NOTE_BYTES / 5 }, (_, index) => String((index * 7_919) % 100_000).padStart(5, "0"));

function targetOf({ name, env = {}, records = { sql: SELECT, on: "postgres" }, hasLarge = true }: Parts) {
  const file = {
    name,
    start: {
      command: `exec ${process.execPath} ${SERVER}`,
      env: { PORT: "${port}", DATABASE_URL: "${postgres}", ...env },
      replicas: 1,
      ready: "GET /health",
    },
    operations: {
      create: {
        request: { method: "POST", path: "/orders", body: { reference: "${operation}" } },
        success: [201],
        ...(hasLarge ? { large: { body: { note: NOTE.join("") } } } : {}),
      },
    },
    contract: { retentionMs: 3000, fingerprint: "none", inFlight: { retryAfter: "optional" } },
    effects: { sql: "select operation from ledger", on: "postgres" },
    ...(records === null ? {} : { records }),
  };
  return parseTarget(file, ".", (complaints) => new Error(complaints.map(({ message }) => message).join()) as never);
}

function benchOf(targets: readonly Parts[], directory: string, expired: number | null = null): Promise<BenchReport> {
  return bench(targets.map(targetOf), invariants, {
    load: { rate: 60, durationMs: 1_500, pace: "exponential", seed: 11 },
    volume: { perDay: 1_000, retentionDays: 7, isAssumed: false },
    expired,
    choices: { again: false },
    thresholds: [],
    // A test's machine may have much else to do.
    lateMicrosMax: 600_000_000,
    timeoutMs: 10_000,
    directory,
    version: "0",
    command: "test",
    signal: new AbortController().signal,
    progress: { step: () => undefined, scenario: () => undefined },
  });
}

function sizesIn({ targets }: BenchReport, target: number) {
  const { sizes = [] } = targets[target]?.storage ?? {};
  const [small, large] = sizes;
  if (small === undefined) throw new Error(targets[target]?.storageNote ?? "nothing was measured");
  return { small, large };
}

describe("the bytes of a record", () => {
  let report: BenchReport;
  beforeAll(async () => {
    const plain = { name: "plain" };
    const padded = { name: "padded", env: { PADDING: 800 }, hasLarge: false };
    report = await benchOf([plain, padded], join(folder, "sizes"));
  });

  test("grow by what is kept beside it, and only the row does", () => {
    const [plain, padded] = [sizesIn(report, 0).small, sizesIn(report, 1).small];
    expect(padded.row - plain.row).toBeGreaterThan(790);
    expect(padded.row - plain.row).toBeLessThan(820);
    expect(padded.toast).toBe(0);
    expect(plain.body).toBe(padded.body);
  });

  test("hold a large answer aside", () => {
    const { small, large } = sizesIn(report, 0);
    expect(large?.body).toBeCloseTo(small.body + NOTE_BYTES, -1);
    expect(large?.toast).toBeGreaterThan(NOTE_BYTES * 0.3);
    expect(large?.row).toBeLessThan(400);
  });

  test("are projected to the volume, beside the naive estimate", () => {
    const { row, toast, index, body } = sizesIn(report, 0).small;
    const [projection] = report.targets[0]?.storage?.projections ?? [];
    expect(projection?.records).toBe(7_000);
    expect(projection?.perDayBytes).toBeCloseTo(1_000 * (row + toast + index));
    expect(projection?.naiveBytes).toBeCloseTo(7_000 * body);
  });

  test("include what a cleanup by deletes leaves", () => {
    const { cycle, cycleLeft, tables, parts } = report.targets[0]?.storage ?? {};
    expect(tables).toEqual(["keys"]);
    expect(parts).toBe(1);
    expect(cycleLeft).toBeNull();
    expect(cycle?.keptShare).toBeGreaterThan(0.5);
    expect(cycle?.deadShare).toBe(0.2);
  });

  test("are told for small answers alone where the file names no large ones", () => {
    expect(sizesIn(report, 1).large).toBeUndefined();
    expect(report.targets[1]?.storage?.largeLeft).toContain("names no way to ask for a large answer");
  });

  test("cost nothing of the verdict: all of it was judged", () => {
    expect(report.targets.map(({ verdict }) => verdict)).toEqual(["pass", "pass"]);
    expect(report.targets[0]?.attempts).toBeGreaterThan(sizesIn(report, 0).small.records);
  });

  test("stand in the terminal, in Markdown and in a plot", () => {
    expect(benchTerminal(report, false)).toMatch(/answer +its body +row +TOAST +indexes +record/);
    expect(benchMarkdown(report)).toContain("1,000 a day, kept for 7 days: 7,000 records");
    const plot = storagePlot(report);
    expect(plot).toMatch(/^<svg [^>]+>[\s\S]+<\/svg>\n$/);
    expect(plot).toContain("padded, small answers");
    expect(plot).not.toContain("NaN");
  });
});

describe("why there are no figures is said in one line", () => {
  test.each([
    ["no-records", null, "no-records names no key records (records)"],
    ["a-function", { sql: "select key, state from key_states()", on: "postgres" }, "reads no table"],
    ["elsewhere", { http: "GET /keys", columns: { key: "/key", state: "/state" } }, "read over HTTP"],
  ])("%s", async (name, records, words) => {
    const report = await benchOf([{ name, records }], join(folder, name), 100);
    expect(report.targets[0]?.storage).toBeNull();
    expect(report.targets[0]?.storageNote).toContain(words);
    expect(report.targets[0]?.cleanupNote).toMatch(/^the cleanup was not measured: /);
    expect(benchTerminal(report, false)).toContain(words);
    expect(storagePlot(report)).toContain("storage was not measured");
  });
});

describe("while expired records are cleaned up", () => {
  const EXPIRED = 3_000;
  const directory = (): string => join(folder, "cleanup");
  let report: BenchReport;
  beforeAll(async () => {
    const records = { sql: SELECT, on: "postgres", fill: FILL };
    const ways = [
      { name: "batches", env: { BATCH_ROWS: 200 }, records },
      { name: "unbounded", env: { BATCH_ROWS: 0 }, records },
    ];
    report = await benchOf(ways, directory(), EXPIRED);
  });

  test("requests are measured before and after they expired, and all records are gone", () => {
    for (const { cleanup } of report.targets) {
      expect(cleanup).toMatchObject({ expired: EXPIRED, removed: EXPIRED, others: 0, isOverrun: false });
      expect(cleanup?.tookMs).not.toBeNull();
      expect(cleanup?.before.samples).toBeGreaterThan(30);
      expect(cleanup?.during.samples).toBeGreaterThan(30);
    }
    expect(report.targets.map(({ verdict }) => verdict)).toEqual(["pass", "pass"]);
  });

  test("each target went its own way", async () => {
    const removals = async (name: string): Promise<number[]> => {
      const log = await readFile(join(directory(), name, "logs", "replica-0.log"), "utf8");
      return [...log.matchAll(/removed (\d+)/g)].map(([, rows]) => Number(rows));
    };
    expect(Math.max(...(await removals("batches")))).toBe(200);
    expect(Math.max(...(await removals("unbounded")))).toBeGreaterThanOrEqual(EXPIRED);
  });

  test("they stand side by side", () => {
    const terminal = benchTerminal(report, false);
    expect(terminal).toContain("3,000 records expired at one moment under 60 first uses a second: all were gone after");
    expect(terminal).toMatch(/batches, while cleaned up .*\n *unbounded, before/);
    expect(benchMarkdown(report)).toContain("## Cleanup");
  });
});

test.each([
  ["insert into nowhere values ('${prefix}${count}${expiresAt}')", "found a statement that PostgreSQL refuses"],
  [
    FILL.replace("generate_series(1, ${count})", "generate_series(1, ${count} + 1)"),
    "found 11 record(s) added, expected 10",
  ],
  [FILL.replace("'${prefix}'", "'x-' || '${prefix}'"), "found 0 of 10 records in the query of `records`"],
])("a fill that does something else is named before anything is measured: %s", async (fill, words) => {
  const parts = { name: "filled-wrongly", records: { sql: SELECT, on: "postgres", fill } };
  const benched = benchOf([parts], await mkdtemp(join(folder, "fill-")), 100);
  await expect(benched).rejects.toMatchObject({ code: "usage", message: expect.stringContaining(words) });
});

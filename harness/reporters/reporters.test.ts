import { expect, test } from "vitest";
import { invariants } from "../invariants/list.ts";
import { judge } from "../judge.ts";
import { historyOf } from "../reading/history-builder.ts";
import { type Report, reportOf, reportSchema } from "../report.ts";
import { answer, effect, HistorySketch } from "../testing/history-builder.ts";
import { jsonReport } from "./json.ts";
import { junitReport } from "./junit.ts";
import { markdownReport } from "./markdown.ts";
import { terminalReport } from "./terminal.ts";

function reportOn(sketch: HistorySketch): Report {
  return reportOf(judge(historyOf(sketch.events()), invariants));
}

const twice = (): HistorySketch =>
  new HistorySketch()
    .attempt({ body: '{"note":"it\'s | <b>\\u0001"}' }, 0, 20, answer(201, { id: "1" }))
    .attempt({}, 1, 21, answer(201, { id: "2" }))
    .books([effect("op"), effect("op")]);
const failed = reportOn(twice());

test("every report is in the published format", () => {
  expect(reportSchema.parse(JSON.parse(jsonReport(failed)))).toEqual(failed);
});

test("a violation prints requirement, expected, actual, witnesses, curl lines and the command that repeats it", () => {
  const text = terminalReport(failed, { color: false, callerHeaders: { alice: ["authorization"] } });
  expect(text).toContain("in tested: It works");
  expect(text).toContain("expected  at most 1 effect(s)");
  expect(text).toContain("actual    2 effects in the books");
  expect(text).toContain("key       key");
  expect(text).toMatch(/a1 {2}POST \/orders by alice on replica 0 {2}201/);
  expect(text).toContain("curl -i -X POST 'http://127.0.0.1:1/orders'");
  expect(text).toContain("again     idemproof run --seed 1 --only tested");
  expect(text).not.toMatch(/^ +replay /m);
  expect(text).toContain("ALICE_AUTHORIZATION");
  expect(text.trimEnd().split("\n").at(-1)).toMatch(/^FAIL/);
});

test("violations have ids that are unique in the report, and a line that replays each where the run left a recipe", () => {
  const [first, ...events] = twice().events();
  if (first?.type !== "run") throw new Error("a sketch begins with its run");
  const size = { seed: 1, rounds: 1, samples: 1, concurrency: 2 };
  const source = { kind: "file", path: null } as const;
  const recipe = { source, digest: "0", size, timeoutMs: 1, command: "idemproof replay report.json" };
  const report = reportOf(judge(historyOf([{ ...first, run: { ...first.run, recipe } }, ...events]), invariants));
  const ids = report.invariants.flatMap(({ violations }) => violations.map(({ id }) => id));
  expect(ids).toContain("at-most-one-effect.1");
  expect(new Set(ids).size).toBe(ids.length);
  expect(reportSchema.parse(JSON.parse(jsonReport(report)))).toEqual(report);
  const line = "idemproof replay report.json at-most-one-effect.1";
  expect(terminalReport(report, { color: false, callerHeaders: {} })).toContain(`replay    ${line}`);
  expect(markdownReport(report)).toContain(line);
  expect(junitReport(report)).toContain(line);
});

test("a run without books says so in its head, in one line", () => {
  const report = reportOn(new HistorySketch().withoutBooks().attempt({}, 0, 20));
  const [, second] = terminalReport(report, { color: false, callerHeaders: {} }).split("\n");
  expect(second).toBe("no books: what really took effect was not looked at, and the effect invariants are skipped");
});

test("colour is used only when asked for", () => {
  expect(terminalReport(failed, { color: false, callerHeaders: {} })).not.toContain("\u001b");
  expect(terminalReport(failed, { color: true, callerHeaders: {} })).toContain("\u001b[31m");
});

test("JUnit counts failures, and inconclusive as errors; it is XML whatever the answers held", () => {
  const xml = junitReport(failed);
  expect(xml).toMatch(/<testcase [^>]*at-most-one-effect[^>]*>\s*(<system-out>[\s\S]*?<\/system-out>\s*)?<failure/);
  expect(xml).not.toMatch(/\p{Cc}(?<![\t\n\r])/u);
  const cut = reportOf(judge(historyOf(twice().events().slice(0, -3)), invariants));
  expect(junitReport(cut)).toContain("<error");
});

test("Markdown tables survive what answers hold", () => {
  const markdown = markdownReport({ ...failed, reasons: ["a | b\n<script>"] });
  expect(markdown).toContain("because a \\| b &lt;script>");
});

test("scenarios that are inconclusive are counted beside the invariants, which may all have held", () => {
  const [scenario] = failed.scenarios;
  if (scenario === undefined) throw new Error("a report has scenarios");
  const scenarios = [scenario, { ...scenario, id: "torn", verdict: "inconclusive" as const }];
  const report = { ...failed, scenarios };
  expect(terminalReport(report, { color: false, callerHeaders: {} })).toMatch(
    /\d+ skipped; 1 of 2 scenarios inconclusive; 2 attempts in /,
  );
  expect(markdownReport(report)).toContain("\n- 1 of 2 scenarios inconclusive: `torn`\n");
  expect(markdownReport(failed)).not.toContain("scenarios inconclusive");
});

test("a Markdown row says what held, though other scenarios had nothing to look at", () => {
  const [first] = failed.invariants;
  if (first === undefined) throw new Error("a report has invariants");
  const held = { ...first, verdict: "pass" as const, statement: "It holds", reasons: ["nothing to look at"] };
  const row = (verdict: "pass" | "skip") => markdownReport({ ...failed, invariants: [{ ...held, verdict }] });
  expect(row("pass")).toContain("| It holds |");
  expect(row("skip")).toContain("| nothing to look at |");
});

const torn = reportOn(
  new HistorySketch()
    .attempt({ endpoint: "charge" }, 0, 20, answer(503))
    .attempt({ operation: "fine", key: "fine", reference: "fine" }, 0, 20)
    .books([effect("fine")], { records: [{ key: "key", state: "in_progress" }] })
    .account([{ result: "charged" }]),
);

test("what became of the keys is one line of counts, and one for each that is unresolved", () => {
  const line = "1 exactly once, 0 duplicated, 0 lost, 0 ghost, 0 refused, 0 resolved unknown, 1 unresolved unknown";
  const known = "last answer a1: 503 (server error); 0 effect(s), 1 charge(s), record in_progress";
  const terminal = terminalReport(torn, { color: false, callerHeaders: {} });
  expect(terminal).toContain(`\nkeys: ${line}\n  ? op in tested, key key: ${known}\n`);
  const markdown = markdownReport(torn);
  expect(markdown).toContain(`\nKeys: ${line}.\n\n- unresolved: \`op\` in \`tested\`, key \`key\`: ${known}\n`);
  expect(reportSchema.parse(JSON.parse(jsonReport(torn))).reconciliation.unresolved).toMatchObject([
    { reference: "op", charges: 1, record: "in_progress" },
  ]);
});

test("a run without books says that its keys were not reconciled", () => {
  const report = reportOn(new HistorySketch().withoutBooks().attempt({}, 0, 20));
  expect(terminalReport(report, { color: false, callerHeaders: {} })).toContain(
    "\nkeys: not reconciled: the target file names no books (effects)\n",
  );
});

test("what keeps several scenarios from being played is said in full once", () => {
  const [scenario] = failed.scenarios;
  if (scenario === undefined) throw new Error("a report has scenarios");
  const reason = "nothing to disturb the network with; ".repeat(5);
  const lacking = ["one", "other"].map((id) => ({
    ...scenario,
    id,
    verdict: "inconclusive" as const,
    reasons: [reason],
  }));
  const text = terminalReport({ ...failed, scenarios: lacking }, { color: false, callerHeaders: {} });
  expect(text.split(reason)).toHaveLength(2);
  expect(text).toMatch(/\? other +as one$/m);
});

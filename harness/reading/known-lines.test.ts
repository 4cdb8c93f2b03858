import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import type { Event } from "../event.ts";
import type { RunHistory } from "../history.ts";
import { invariants } from "../invariants/list.ts";
import { readHistory } from "../journal.ts";
import { judge } from "../judge.ts";
import type { Attempt } from "../operation.ts";
import { attempts, outcomes, plain } from "../testing/arbitrary-attempt.ts";
import { HistorySketch } from "../testing/history-builder.ts";
import { HistoryBuilder } from "./history-builder.ts";
import { linesOf } from "./lines.ts";

const directory = mkdtempSync(join(tmpdir(), "idemproof-known-lines-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** Few requests and few answers, each many times, as in a run; and now and then any. */
const events: fc.Arbitrary<readonly Event[]> = fc
  .tuple(fc.array(attempts, { minLength: 1, maxLength: 3 }), fc.array(outcomes, { minLength: 1, maxLength: 3 }))
  .chain(([someAttempts, someOutcomes]) =>
    fc.array(
      fc.record({
        attempt: fc.constantFrom(...someAttempts),
        outcome: fc.option(fc.constantFrom(...someOutcomes)),
        id: fc.constantFrom(...IDS),
        replica: fc.nat(12),
        at: fc.nat(2_000),
        lasts: fc.nat(50),
      }),
      { maxLength: 30 },
    ),
  )
  .map((list) => {
    const inOrder: Event[] = [];
    for (const { attempt, outcome, id, replica, at, lasts } of list) {
      inOrder.push({ type: "invoked", at, attempt: { ...attempt, endpoint: "create", id, replica } });
      if (outcome !== null) inOrder.push({ type: "completed", at: at + lasts, attemptId: id, outcome });
    }
    return inOrder;
  });

const IDS: readonly Attempt["id"][] = ["s#1", "s#2", "s#3", "s#40", "s#40", "s#05", "other"];

/** Pieces that turn a line into almost the same one. */
const PIECES = [
  ...['"', "\\", ",", ":", "{", "}", " ", "0", "1", "-", ".", "a", "#", "\n", "\r", "\t", "\0", "\u00ff", "}}", '","'],
  ...[',"replica":7', '"replica":7,', ',"id":"s#2"', ',"at":3', '"status":500,', '"headers":{},', ',"body":{}'],
  ...[',"request":{}', '"payload":{"kind":"other"},', ',"scenario":"s"', '"scenario":"t",', "\\u0061", "s#1", "e1"],
];

interface Edit {
  readonly place: number;
  readonly removed: number;
  readonly piece: string;
}

const edits: fc.Arbitrary<readonly Edit[]> = fc.array(
  fc.record({
    place: fc.nat(100_000),
    removed: fc.constantFrom(0, 0, 0, 1, 1, 5, 300),
    piece: fc.constantFrom("", "", ...PIECES),
  }),
  { maxLength: 4 },
);

/** In the histories of a run most lines are known ones; the space before a line makes it none. */
test("a line that is known by its bytes says what JSON.parse says, in a history that somebody edited as well", async () => {
  await fc.assert(
    fc.asyncProperty(events, edits, async (list, changes) => {
      const content = changes.reduce(edited, linesFor(list));
      const parsed = content.split("\n").map((line) => (line === "" ? line : ` ${line}`));
      expect(await said(content).catch(String)).toEqual(await said(parsed.join("\n")).catch(String));
    }),
    { numRuns: 1_000, seed: 20261201 },
  );
});

test("all lines but the first of their kind are known", async () => {
  const [attempt] = fc.sample(attempts, { numRuns: 1, seed: 3 });
  if (attempt === undefined) throw new Error("one was asked for");
  const outcome = {
    kind: "responded",
    status: 201,
    headers: { date: "today" },
    body: { text: "{}", bytes: 2 },
  } as const;
  const path = join(directory, "known");
  const list = ["s#1", "s#2", "s#3"].flatMap((id, index): readonly Event[] => [
    { type: "invoked", at: index, attempt: { ...attempt, id, replica: index } },
    { type: "completed", at: index, attemptId: id, outcome: { ...outcome, headers: { date: `day ${index}` } } },
  ]);
  writeFileSync(path, linesFor(list));
  const builder = new HistoryBuilder();
  const known = Array.from(linesOf(path), (line) => {
    if (builder.addLine(line)) return true;
    builder.add(JSON.parse(line.bytes.toString("utf8", line.from, line.until)));
    return false;
  });
  // The run, and the scenario's beginning.
  expect(known).toEqual([false, false, true, true, true, true, true, true]);
  expect(builder.build().scenarios[0]?.attempts).toHaveLength(3);
});

function linesFor(list: readonly Event[]): string {
  const [run] = new HistorySketch().events();
  const started = { type: "scenario", at: 0, id: "s", state: "started", title: "", requirement: "", exercises: [] };
  return [run, started, ...list].map((event) => `${JSON.stringify(event)}\n`).join("");
}

/** The first two lines stay: without a run nothing is judged. */
function edited(content: string, { place, removed, piece }: Edit): string {
  const first = content.indexOf("\n", content.indexOf("\n") + 1) + 1;
  const at = first + (place % (content.length - first + 1));
  return content.slice(0, at) + piece + content.slice(at + removed);
}

async function said(content: string): Promise<unknown> {
  const path = join(directory, "history.ndjson");
  // As bytes, so that what was added may be no UTF-8.
  writeFileSync(path, content, "latin1");
  const history = await readHistory(path);
  const { result, reasons, invariants: verdicts, scenarios } = judge(history, invariants);
  const damage = withoutPositions(history.damage);
  return {
    ...facts(history),
    damage,
    result,
    reasons: withoutPositions(reasons),
    verdicts: verdicts.map((one) => [one.invariant.id, one.result, one.checked, one.reasons, one.violations]),
    reconciled: scenarios.map(({ reconciliation }) => reconciliation),
  };
}

function facts({ scenarios, attempts: count, ending, hasGaps, notes, durationMs }: RunHistory): object {
  return { count, ending, hasGaps, notes, durationMs, attempts: scenarios.map((one) => one.attempts.map(plain)) };
}

/** A message of JSON.parse says where on the line, and shows a part of it. */
function withoutPositions(texts: readonly string[]): readonly string[] {
  return texts.map((text) => text.replace(/(line \d+: ).*/s, "$1"));
}

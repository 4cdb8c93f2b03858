import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { loadScenarios } from "./cli/scenarios.ts";
import type { Event } from "./event.ts";
import { invariants } from "./invariants/list.ts";
import { Journal, readHistory } from "./journal.ts";
import { type Judgement, judge } from "./judge.ts";
import { randomOf } from "./random.ts";
import { historyOf } from "./reading/history-builder.ts";
import type { Defect } from "./testing/simulated-defects.ts";
import { simulate } from "./testing/simulated-run.ts";

const directory = mkdtempSync(join(tmpdir(), "idemproof-journal-"));
afterAll(() => rmSync(directory, { recursive: true }));
const scenarios = await loadScenarios(["duplicates-at-once", "retry-after-answer", "expired-lease"]);

function eventsOf(...defects: readonly Defect[]): readonly Event[] {
  const size = { seed: 7, rounds: 3, samples: 1, concurrency: 6 };
  return simulate({ scenarios, size, replicas: 2, behaviour: new Set(defects) });
}

/** The history as a journal leaves it on the disk. */
async function written(events: readonly Event[]): Promise<Buffer> {
  const path = join(directory, "written.ndjson");
  {
    await using journal = new Journal(path);
    for (const event of events) journal.record(event);
  }
  return readFileSync(path);
}

async function judgeFile(content: Buffer | string): Promise<Judgement> {
  const path = join(directory, "read.ndjson");
  writeFileSync(path, content);
  return judge(await readHistory(path), invariants);
}

/** Everything that a judgement says, without the histories it rests on. */
function saidIn({ result, reasons, scenarios: each, invariants: verdicts }: Judgement): unknown {
  return {
    result,
    reasons,
    scenarios: each.map((one) => [one.history.scenario, one.result, one.reasons]),
    invariants: verdicts.map((one) => [one.invariant.id, one.result, one.checked, one.reasons, one.violations]),
  };
}

const correct = eventsOf();
const broken = eventsOf("process-local-store", "original-headers-lost");

test("a history that was written and read back is judged as in memory", async () => {
  expect(judge(historyOf(correct), invariants).result).toBe("pass");
  expect(judge(historyOf(broken), invariants).result).toBe("fail");
  for (const events of [correct, broken]) {
    const again = await judgeFile(await written(events));
    expect(saidIn(again)).toEqual(saidIn(judge(historyOf(events), invariants)));
  }
});

describe("a cut history", () => {
  const random = randomOf(20261201);

  test("is never a pass, wherever it is cut, and says that it is cut", async () => {
    const whole = await written(correct);
    // The last byte is the end of the last line, and nothing is lost with it.
    const places = [1, whole.length - 2, ...Array.from({ length: 60 }, () => 1 + random.below(whole.length - 2))];
    for (const place of places) {
      const judgement = await judgeFile(whole.subarray(0, place)).catch((error: unknown) => error);
      if (judgement instanceof Error) {
        // In the very first line there is no event to be found.
        expect(judgement.message).toMatch(/found no event in 1 line\(s\), expected a history.ndjson/);
        continue;
      }
      expect((judgement as Judgement).result, `cut at ${place}`).toBe("inconclusive");
      expect((judgement as Judgement).reasons).toContain("the history ends before the run does");
    }
  });

  test("is not a pass for a broken server either", async () => {
    const whole = await written(broken);
    for (let count = 0; count < 60; count += 1) {
      const place = whole.indexOf("\n") + 1 + random.below(whole.length - whole.indexOf("\n") - 3);
      const { result } = await judgeFile(whole.subarray(0, place));
      expect(["inconclusive", "fail"], `cut at ${place}`).toContain(result);
    }
  });

  test("in mid-line names the line", async () => {
    const whole = await written(correct);
    const judgement = await judgeFile(whole.subarray(0, whole.length - 20));
    const lines = whole.toString().trimEnd().split("\n").length;
    expect(judgement.history.damage).toHaveLength(1);
    expect(judgement.history.damage[0]).toMatch(new RegExp(`^line ${lines}: `));
  });
});

describe("a damaged line", () => {
  // Where a lost invocation leaves an answer unexplained, the judge may see a violation in it.
  test("is never passed over for a pass, whichever line it is", async () => {
    const lines = (await written(correct)).toString().trimEnd().split("\n");
    const random = randomOf(5);
    for (let count = 0; count < 40; count += 1) {
      const number = 1 + random.below(lines.length - 1);
      const line = lines[number] ?? "";
      const content = lines.with(number, line.slice(0, 1 + random.below(line.length - 1))).join("\n");
      const judgement = await judgeFile(content);
      expect(["inconclusive", "fail"], `line ${number + 1}`).toContain(judgement.result);
      expect(judgement.reasons.join("\n")).toContain(`parts of the history could not be read: line ${number + 1}: `);
    }
  });

  test.each([
    ["null", "found JSON that is no event"],
    ["[]", "found JSON that is no event"],
    ['{"type":"invoked"}', "found JSON that is no event"],
    ['{"type":"invoked","at":"soon"}', "found JSON that is no event"],
    ['{"type":"invoked","at":1}', "Cannot read properties"],
    ["\u0000\u0000\u0000", "Unexpected token"],
  ])("%s is one", async (line, reason) => {
    const { result, history } = await judgeFile(`${(await written(correct)).toString()}${line}\n`);
    expect(result).toBe("inconclusive");
    expect(history.damage).toEqual([expect.stringContaining(reason)]);
  });
});

test("of much damage the first lines are named and the rest is counted", async () => {
  const { damage } = (await judgeFile(`${await written(correct)}${"nonsense\n".repeat(25)}`)).history;
  expect(damage).toHaveLength(21);
  expect(damage.at(-1)).toBe("and 5 more line(s)");
});

test("an event of an unknown type changes no verdict and is noted", async () => {
  const whole = (await written(correct)).toString();
  const cutAt = whole.indexOf("\n", whole.length / 2) + 1;
  const strange = '{"type":"tasted","at":1,"of":"copper"}\n';
  const judgement = await judgeFile(whole.slice(0, cutAt) + strange + whole.slice(cutAt));
  expect(saidIn(judgement)).toEqual(saidIn(judge(historyOf(correct), invariants)));
  expect(judgement.history.notes).toEqual(['1 event(s) of the unknown type "tasted" were passed over']);
});

test("empty lines are no damage", async () => {
  const whole = (await written(correct)).toString();
  expect(await judgeFile(`\n${whole.replaceAll("\n", "\r\n\n")}`)).toMatchObject({ result: "pass", reasons: [] });
});

test("an empty file is inconclusive, and says what is missing", async () => {
  for (const content of ["", "\n"]) {
    const judgement = await judgeFile(content);
    expect(judgement.result).toBe("inconclusive");
    expect(judgement.reasons).toEqual([
      "the history does not say which run it is of",
      "nothing was looked at: the history holds no attempt",
      "the history ends before the run does",
    ]);
  }
});

test.each(["this is not a history\n", "{}\n[]\n", "\u0000"])(
  "a file that holds no event is refused: %j",
  async (content) => {
    await expect(judgeFile(content)).rejects.toMatchObject({ code: "usage" });
  },
);

test("a file that is not there, or is a directory, is refused", async () => {
  await expect(readHistory(join(directory, "missing.ndjson"))).rejects.toMatchObject({ code: "usage" });
  await expect(readHistory(directory)).rejects.toMatchObject({ code: "usage" });
});

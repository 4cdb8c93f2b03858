import { describe, expect, test } from "vitest";
import { combine, type Invariant, type Level, type Result, type Verdict, verdictOf } from "./invariant.ts";
import { invariants } from "./invariants/list.ts";
import { judge } from "./judge.ts";
import { historyOf } from "./reading/history-builder.ts";
import { answer, effect, HistorySketch, lost, SCENARIO } from "./testing/history-builder.ts";

const violated = { message: "it broke", expected: "whole", actual: "broken", key: null, attempts: ["a1"] };
const verdicts = {
  pass: { result: "pass", checked: 3 },
  fail: { result: "fail", checked: 2, violations: [violated] },
  inconclusive: { result: "inconclusive", reason: "nobody knows" },
  skip: { result: "skip", reason: "nothing to look at", excused: false },
  excused: { result: "skip", reason: "the target has no books", excused: true },
} as const satisfies Record<string, Verdict>;

/** An invariant that gives one verdict on every history. */
function fixed(verdict: Verdict, { id = "fixed", level = "must" }: { id?: string; level?: Level } = {}): Invariant {
  return { id, level, statement: "It holds", check: () => verdict };
}

function judgeSketch(some: readonly Invariant[], sketch = new HistorySketch().attempt({}, 0, 20)) {
  return judge(historyOf(sketch.events()), some);
}

describe("verdicts combine by the table fail > inconclusive > pass > skip", () => {
  const table: readonly (readonly [Result[], Result])[] = [
    [[], "skip"],
    [["skip"], "skip"],
    [["pass"], "pass"],
    [["inconclusive"], "inconclusive"],
    [["fail"], "fail"],
    [["pass", "skip"], "pass"],
    [["skip", "inconclusive"], "inconclusive"],
    [["pass", "inconclusive"], "inconclusive"],
    [["skip", "fail"], "fail"],
    [["pass", "fail"], "fail"],
    [["inconclusive", "fail"], "fail"],
    [["skip", "pass", "inconclusive", "fail"], "fail"],
  ];
  test.each(table)("%j is %s, in any order", (results, expected) => {
    expect(combine(results)).toBe(expected);
    expect(combine(results.toReversed())).toBe(expected);
  });

  test("of a scenario's invariants the worst counts, for the scenario and for the run", () => {
    for (const [results, expected] of table) {
      const judgement = judgeSketch(results.map((result) => fixed(verdicts[result])));
      expect(judgement.scenarios[0]?.result, JSON.stringify(results)).toBe(expected);
      // A run in which every scenario was skipped looked at nothing.
      expect(judgement.result).toBe(expected === "skip" ? "inconclusive" : expected);
    }
  });
});

test("a check that looked at nothing is a skip, never a pass", () => {
  expect(verdictOf(0, [], "nothing there")).toEqual({ result: "skip", reason: "nothing there", excused: false });
  expect(verdictOf(1, [], "nothing there")).toEqual({ result: "pass", checked: 1 });
  expect(verdictOf(1, [violated], "nothing there")).toMatchObject({ result: "fail", violations: [violated] });
});

describe("levels", () => {
  test.each([
    ["must", "fail"],
    ["should", "pass"],
    ["info", "pass"],
  ] as const)("a broken %s makes a scenario %s, and is reported", (level, expected) => {
    const judgement = judgeSketch([fixed(verdicts.fail, { level })]);
    expect(judgement.result).toBe(expected);
    expect(judgement.invariants[0]).toMatchObject({ level, result: "fail", checked: 2 });
    expect(judgement.invariants[0]?.violations).toEqual([{ scenario: SCENARIO, violation: violated }]);
  });

  test("the contract's level counts instead of the invariant's own, both ways", () => {
    const sketch = (level: Level) => new HistorySketch().contract({ levels: { fixed: level } }).attempt({}, 0, 20);
    expect(judgeSketch([fixed(verdicts.fail)], sketch("should")).result).toBe("pass");
    expect(judgeSketch([fixed(verdicts.fail, { level: "info" })], sketch("must")).result).toBe("fail");
  });

  test("a broken should does not hide a broken must", () => {
    const both = [fixed(verdicts.fail, { id: "one", level: "should" }), fixed(verdicts.fail, { id: "two" })];
    expect(judgeSketch(both).result).toBe("fail");
  });
});

describe("a scenario must have looked at what it exercises", () => {
  const exercising = () => new HistorySketch().exercises("fixed").attempt({}, 0, 20);
  const other = fixed(verdicts.pass, { id: "other" });

  test("a skip of it is inconclusive, and says of what", () => {
    const judgement = judgeSketch([fixed(verdicts.skip), other], exercising());
    expect(judgement.result).toBe("inconclusive");
    expect(judgement.scenarios[0]?.reasons).toEqual([
      "fixed was to be exercised and looked at nothing: nothing to look at",
    ]);
  });

  test("a skip that the target file excuses is none", () => {
    expect(judgeSketch([fixed(verdicts.excused), other], exercising()).result).toBe("pass");
  });

  test("a skip of another invariant says nothing", () => {
    expect(judgeSketch([fixed(verdicts.pass), fixed(verdicts.skip, { id: "other" })], exercising()).result).toBe(
      "pass",
    );
  });

  test("a violation counts more than a skip", () => {
    expect(judgeSketch([fixed(verdicts.skip), fixed(verdicts.fail, { id: "other" })], exercising()).result).toBe(
      "fail",
    );
  });
});

test("an invariant that throws is inconclusive, with its error kept", () => {
  const throwing: Invariant = {
    ...fixed(verdicts.pass),
    check: () => {
      throw new TypeError("no such endpoint");
    },
  };
  const judgement = judgeSketch([throwing, fixed(verdicts.pass, { id: "other" })]);
  expect(judgement.result).toBe("inconclusive");
  expect(judgement.scenarios[0]?.reasons).toEqual(["fixed: the check itself failed: no such endpoint"]);
  expect(judgement.invariants[0]).toMatchObject({ result: "inconclusive", violations: [] });
});

describe("a pass is taken back by what the run did not do", () => {
  const passing = [fixed(verdicts.pass)];
  const eventsOf = (sketch: HistorySketch) => [...sketch.events()];
  const whole = () => eventsOf(new HistorySketch().attempt({}, 0, 20));
  const judgedWithout = (type: string, state?: string) =>
    judge(historyOf(whole().filter((event) => event.type !== type || !("state" in event && event.state === state))), [
      ...passing,
    ]);

  test("the whole passes", () => {
    expect(judge(historyOf(whole()), passing)).toMatchObject({ result: "pass", reasons: [] });
  });

  test("a scenario that was not played to its end", () => {
    const judgement = judgedWithout("scenario", "finished");
    expect(judgement.result).toBe("inconclusive");
    expect(judgement.scenarios[0]?.reasons).toEqual(["the scenario was not played to its end"]);
  });

  test("a scenario without attempts", () => {
    const judgement = judge(historyOf(new HistorySketch().events()), passing);
    expect(judgement.scenarios[0]).toMatchObject({ result: "inconclusive", reasons: ["no attempt was made"] });
    expect(judgement.reasons).toEqual(["nothing was looked at: the history holds no attempt"]);
  });

  test("a burst that never overlapped", () => {
    const events = whole();
    events.splice(-2, 0, { type: "unraced", at: 1, scenario: SCENARIO, tries: 5 });
    const judgement = judge(historyOf(events), passing);
    expect(judgement.result).toBe("inconclusive");
    expect(judgement.scenarios[0]?.reasons).toEqual(["1 burst(s) never overlapped, however often repeated"]);
  });

  test("attempts without an answer that no fault explains", () => {
    const unanswered = () => new HistorySketch().attempt({}, 0, 20, lost);
    expect(judgeSketch(passing, unanswered()).result).toBe("inconclusive");
    expect(judgeSketch(passing, unanswered().paused(0, 5, 10)).result).toBe("pass");
    expect(judgeSketch(passing, unanswered().paused(0, 30, 40)).result).toBe("inconclusive");
    const hungUp = { kind: "indeterminate", reason: "aborted" } as const;
    expect(judgeSketch(passing, new HistorySketch().attempt({}, 0, 20, hungUp)).result).toBe("pass");
  });

  test("a fault that never struck", () => {
    const events = whole();
    const fault = { type: "fault", scenario: SCENARIO, id: "f1", fault: "hang", replica: null } as const;
    events.splice(-2, 0, { ...fault, at: 1, operation: "op", phase: "claimed", state: "armed" });
    const judgement = judge(historyOf(events), passing);
    expect(judgement.result).toBe("inconclusive");
    expect(judgement.scenarios[0]?.reasons).toEqual(["1 fault(s) never struck: hang at claimed of op"]);
  });

  test("attempts without an answer that a fault elsewhere does not explain", () => {
    const unanswered = () => new HistorySketch().attempt({ replica: 1 }, 0, 20, lost);
    expect(judgeSketch(passing, unanswered().fault("kill-replica", { replica: 0 }, 5, 10)).result).toBe("inconclusive");
    expect(judgeSketch(passing, unanswered().fault("kill-replica", { replica: 1 }, 5, 10)).result).toBe("pass");
  });

  test("a key of which nobody can say what became of it, and it is named with all that is known", () => {
    const torn = new HistorySketch()
      .attempt({ endpoint: "charge" }, 0, 20, answer(503))
      .books([], { records: [{ key: "key", state: "in_progress" }] })
      .account([{ result: "charged" }]);
    const judgement = judgeSketch(passing, torn);
    expect(judgement.result).toBe("inconclusive");
    expect(judgement.scenarios[0]?.reasons).toEqual([
      "what became of 1 key(s) is unresolved: op (a1: 503 (server error); 0 effect(s), 1 charge(s), record in_progress)",
    ]);
    expect(judgeSketch([fixed(verdicts.fail)], torn).result).toBe("fail");
  });

  test.each([
    ["interrupted", null, "the run was interrupted"],
    ["target-lost", "replica 1 ended", "the target was lost in mid-run: replica 1 ended"],
    ["failed", "no space left", "the run failed: no space left"],
  ] as const)("an ending that is %s", (ending, message, reason) => {
    const events = [...whole().slice(0, -1), { type: "ended", at: 9, ending, message } as const];
    expect(judge(historyOf(events), passing)).toMatchObject({ result: "inconclusive", reasons: [reason] });
  });

  test("a violation is none to be sure of when the lab gave way, and is one when the target did", () => {
    const ending = (how: "failed" | "target-lost") =>
      [...whole().slice(0, -1), { type: "ended", at: 9, ending: how, message: "PostgreSQL ended" } as const] as const;
    expect(judge(historyOf(ending("failed")), [fixed(verdicts.fail)]).result).toBe("inconclusive");
    expect(judge(historyOf(ending("target-lost")), [fixed(verdicts.fail)]).result).toBe("fail");
  });

  test("no ending", () => {
    const judgement = judge(historyOf(whole().slice(0, -1)), passing);
    expect(judgement).toMatchObject({ result: "inconclusive", reasons: ["the history ends before the run does"] });
  });

  test("no beginning", () => {
    const judgement = judge(historyOf(whole().slice(1)), passing);
    expect(judgement.result).toBe("inconclusive");
    expect(judgement.reasons).toContain("the history does not say which run it is of");
  });

  test("damage", () => {
    const judgement = judge(historyOf(whole(), ["line 3: Unexpected end of JSON input"]), passing);
    expect(judgement.result).toBe("inconclusive");
    expect(judgement.reasons).toEqual(["parts of the history could not be read: line 3: Unexpected end of JSON input"]);
  });

  test("a violation stands, whatever the run did not do", () => {
    const cut = historyOf(whole().slice(0, -2), ["line 3: cut"]);
    expect(judge(cut, [fixed(verdicts.fail)]).result).toBe("fail");
  });
});

describe("skipped scenarios", () => {
  const skipped = { type: "scenario", at: 0, id: "left-out", state: "skipped", title: "Left out", reason: "no books" };

  test("one beside others is a skip with its reason, and no invariant is asked", () => {
    const events = [...new HistorySketch().attempt({}, 0, 20).events()];
    events.splice(1, 0, skipped as (typeof events)[number]);
    const judgement = judge(historyOf(events), [fixed(verdicts.pass)]);
    expect(judgement.result).toBe("pass");
    expect(judgement.scenarios[0]).toMatchObject({ result: "skip", reasons: ["no books"], findings: [] });
    expect(judgement.invariants[0]).toMatchObject({ result: "pass", checked: 3 });
  });

  test("one that the lab lacks something for is inconclusive: it was not left out on purpose", () => {
    const events = [...new HistorySketch().attempt({}, 0, 20).events()];
    events.splice(1, 0, { ...skipped, isLacking: true, reason: "no Toxiproxy" } as (typeof events)[number]);
    const judgement = judge(historyOf(events), [fixed(verdicts.pass)]);
    expect(judgement.result).toBe("inconclusive");
    expect(judgement.scenarios[0]).toMatchObject({ result: "inconclusive", reasons: ["no Toxiproxy"], findings: [] });
  });

  test("nothing but skipped ones proves nothing", () => {
    const [run, ...rest] = new HistorySketch().events();
    const ended = rest.at(-1);
    if (run === undefined || ended === undefined) throw new Error("a sketch has a beginning and an end");
    const judgement = judge(historyOf([run, skipped as typeof run, ended]), [fixed(verdicts.pass)]);
    expect(judgement.result).toBe("inconclusive");
    expect(judgement.reasons).toContain("every scenario was skipped");
  });
});

/** Half of them on one key: what a check that compares all with all does not survive. */
test("200,000 attempts are judged in one pass, 100,000 of one key among them", () => {
  const each = 100_000;
  const sketch = new HistorySketch();
  for (let number = 0; number < each; number += 1) {
    sketch.attempt({ operation: "hot", key: "hot" }, number, number + 2, answer(201, { id: "1", reference: "hot" }));
    const operation = `cold-${number >> 1}`;
    sketch.attempt({ operation, key: operation }, number, number + 2, answer(201, { id: operation }));
  }
  const effects = Array.from({ length: each / 2 }, (_, number) => effect(`cold-${number}`));
  const judgement = judge(historyOf(sketch.books([effect("hot"), ...effects]).events()), invariants);
  expect(judgement.history.attempts).toBe(2 * each);
  const reasons = judgement.scenarios.flatMap((scenario) => scenario.reasons);
  expect(reasons.filter((reason) => reason.includes("the check itself failed"))).toEqual([]);
  const once = judgement.invariants.find(({ invariant }) => invariant.id === "at-most-one-effect");
  expect(once).toMatchObject({ result: "pass", checked: 1 + each / 2 });
  const replay = judgement.invariants.find(({ invariant }) => invariant.id === "replay-is-identical");
  expect(replay).toMatchObject({ result: "pass", checked: each - 1 + each / 2 });
});

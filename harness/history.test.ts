import { describe, expect, test } from "vitest";
import type { Books, Event } from "./event.ts";
import type { History } from "./history.ts";
import type { Attempt } from "./operation.ts";
import { historyOf } from "./reading/history-builder.ts";
import { answer, effect, HistorySketch, SCENARIO } from "./testing/history-builder.ts";

function idsOf(group: { readonly attempts: History["attempts"] }): readonly string[] {
  return group.attempts.map(({ attempt }) => attempt.id);
}

/** The events of a sketch, with others put in before its last two. */
function withEvents(sketch: HistorySketch, ...others: readonly Event[]): readonly Event[] {
  const events = [...sketch.events()];
  events.splice(-2, 0, ...others);
  return events;
}

function finalBooks(books: Partial<Books>): Event {
  const plain = { effects: [], records: [], quiet: true, failure: null };
  return { type: "observed", at: 900_000, scenario: null, books: { ...plain, ...books } };
}

describe("attempts", () => {
  test("are joined with their outcomes and stand in order of invocation, whichever ended first", () => {
    const { attempts } = new HistorySketch()
      .attempt({}, 10, 90, answer(201))
      .attempt({}, 5, 95, answer(409))
      .attempt({}, 20, 30, answer(422))
      .build();
    expect(idsOf({ attempts })).toEqual(["a2", "a1", "a3"]);
    expect(attempts[0]).toMatchObject({ invokedAt: 5_000, completedAt: 95_000, outcome: { status: 409 } });
  });

  test("that never ended are open: they may still end at any time", () => {
    const { attempts } = new HistorySketch().attempt({}, 10, null).build();
    expect(attempts[0]).toMatchObject({
      completedAt: Infinity,
      outcome: { kind: "indeterminate", reason: "open" },
    });
  });

  test("an outcome of an attempt that was never invoked is none", () => {
    const stray: Event = { type: "completed", at: 5, attemptId: "a9", outcome: answer(201) };
    const { scenarios, attempts } = historyOf(withEvents(new HistorySketch().attempt({}, 0, 20), stray));
    expect(attempts).toBe(1);
    expect(scenarios).toHaveLength(1);
  });

  test("the first outcome of an attempt counts", () => {
    const again: Event = { type: "completed", at: 25_000, attemptId: "a1", outcome: answer(500) };
    const [history] = historyOf(withEvents(new HistorySketch().attempt({}, 0, 20), again)).scenarios;
    expect(history?.attempts).toMatchObject([{ completedAt: 20_000, outcome: { status: 201 } }]);
  });
});

describe("groups", () => {
  test("hold the attempts of one key, caller, endpoint and query, and of no other", () => {
    const { groups } = new HistorySketch()
      .attempt({}, 0, 9)
      .attempt({ caller: "bob" }, 1, 9)
      .attempt({ endpoint: "refund" }, 2, 9)
      .attempt({ query: "q=1" }, 3, 9)
      .attempt({ key: "KEY" }, 4, 9)
      .attempt({ operation: "another", payload: { kind: "other" }, replica: 1 }, 5, 9)
      .build();
    expect(groups.map(idsOf)).toEqual([["a1", "a6"], ["a2"], ["a3"], ["a4"], ["a5"]]);
    expect(groups[0]).toMatchObject({ key: "key", caller: "alice", endpoint: "create", query: "" });
  });

  test("are told apart however their parts are written", () => {
    const { groups } = new HistorySketch()
      .attempt({ caller: 'a","b', endpoint: "c" }, 0, 9)
      .attempt({ caller: "a", endpoint: 'b","c' }, 1, 9)
      .attempt({ caller: "a,b", endpoint: "c" }, 2, 9)
      .attempt({ caller: "a", endpoint: "b,c" }, 3, 9)
      .build();
    expect(groups).toHaveLength(4);
  });

  test("leave out what was sent without a key", () => {
    const { groups, operations } = new HistorySketch().attempt({ key: null }, 0, 9).build();
    expect(groups).toEqual([]);
    expect(operations.map(idsOf)).toEqual([["a1"]]);
  });
});

test("operations hold the attempts by which one client wanted one thing", () => {
  const { operations } = new HistorySketch()
    .attempt({ operation: "one" }, 0, 9)
    .attempt({ operation: "two", reference: "shared" }, 1, 9)
    .attempt({ operation: "one", payload: { kind: "changed", field: "/item" } }, 2, 9)
    .build();
  expect(operations.map(idsOf)).toEqual([["a1", "a3"], ["a2"]]);
  expect(operations.map(({ reference }) => reference)).toEqual(["one", "shared"]);
});

describe("scenarios", () => {
  test("have histories of their own, also when they are played side by side", () => {
    const [run, , invoked, completed] = new HistorySketch().attempt({}, 0, 20).events();
    if (run === undefined || invoked?.type !== "invoked" || completed?.type !== "completed") throw new Error("sketch");
    const of = (scenario: string, id: string): Event => {
      const attempt: Attempt = { ...invoked.attempt, id, scenario };
      return { ...invoked, attempt };
    };
    const done = (attemptId: string): Event => ({ ...completed, attemptId });
    const { scenarios, attempts } = historyOf([run, of("one", "x"), of("two", "y"), done("y"), done("x")]);
    expect(scenarios.map(({ scenario }) => scenario.id).sort()).toEqual(["one", "two"]);
    expect(scenarios.flatMap(({ groups }) => groups.map(idsOf)).sort()).toEqual([["x"], ["y"]]);
    expect(attempts).toBe(2);
  });

  test("are finished when the history says so", () => {
    const events = new HistorySketch().attempt({}, 0, 20).events();
    const finishedIn = (some: readonly Event[]) => historyOf(some).scenarios[0]?.scenario.finished;
    expect(finishedIn(events)).toBe(true);
    expect(finishedIn(events.slice(0, -2))).toBe(false);
  });

  test("keep the reason for which they were skipped", () => {
    const event = {
      type: "scenario",
      at: 1,
      id: "left-out",
      state: "skipped",
      title: "Left out",
      reason: "no",
    } as const;
    const { scenarios } = historyOf(withEvents(new HistorySketch().attempt({}, 0, 20), event));
    expect(scenarios[1]?.scenario).toMatchObject({ id: "left-out", title: "Left out", skipped: "no", finished: true });
  });

  test("count the bursts that never overlapped and keep the receipts of those that did", () => {
    const unraced: Event = { type: "unraced", at: 1, scenario: SCENARIO, tries: 5 };
    const sketch = new HistorySketch().attempt({}, 0, 20).receipt({ inFlight: 7 });
    const [history] = historyOf(withEvents(sketch, unraced, unraced)).scenarios;
    expect(history?.scenario.unraced).toBe(2);
    expect(history?.receipts).toMatchObject([{ inFlight: 7 }]);
  });
});

describe("faults", () => {
  test("are at work from their injection to their healing, each on its replica", () => {
    const { faults } = new HistorySketch().paused(0, 10, 20).paused(1, 15, 40).paused(0, 50, 60).build();
    expect(faults.map(({ replica, from, until }) => [replica, from, until])).toEqual([
      [0, 10_000, 20_000],
      [1, 15_000, 40_000],
      [0, 50_000, 60_000],
    ]);
  });

  test("that were never healed are at work to the end", () => {
    expect(new HistorySketch().paused(0, 10, null).build().faults[0]?.until).toBe(Infinity);
  });
});

describe("placed faults", () => {
  const armed = { type: "fault", scenario: SCENARIO, id: "f1", fault: "hang", replica: null } as const;
  const place = { operation: "op", phase: "claimed" };
  const historyWith = (...events: readonly Event[]) => {
    const [history] = historyOf(withEvents(new HistorySketch().attempt({}, 0, 20), ...events)).scenarios;
    if (history === undefined) throw new Error("a sketch has one scenario");
    return history;
  };

  test("are at work from the moment when they struck, with their place", () => {
    const { faults, missedFaults } = historyWith(
      { ...armed, ...place, at: 1_000, state: "armed" },
      { ...armed, ...place, replica: 1, from: 4_000, at: 5_000, state: "injected" },
      { ...armed, ...place, replica: 1, at: 9_000, state: "healed" },
    );
    expect(faults).toEqual([
      { id: "f1", fault: "hang", replica: 1, ...place, from: 4_000, struckAt: 5_000, until: 9_000 },
    ]);
    expect(missedFaults).toEqual([]);
  });

  test("that were armed and never struck are missed, and were never at work", () => {
    const { faults, missedFaults } = historyWith({ ...armed, ...place, at: 1_000, state: "armed" });
    expect(faults).toEqual([]);
    expect(missedFaults).toEqual(["hang at claimed of op"]);
  });

  test("that had nothing to strike are missed, by the name that people know", () => {
    const processor = { ...armed, fault: "processor", label: "declines", operation: "op" } as const;
    const { missedFaults } = historyWith(
      { ...processor, at: 1_000, state: "injected" },
      { ...processor, at: 2_000, state: "healed" },
      { ...processor, at: 2_000, state: "missed" },
    );
    expect(missedFaults).toEqual(["declines of op"]);
  });

  test("of one name are told apart by their ids", () => {
    const { faults } = new HistorySketch()
      .fault("hang", { operation: "one" }, 1, 9)
      .fault("hang", { operation: "two" }, 2, 5)
      .build();
    expect(faults.map(({ operation, until }) => [operation, until])).toEqual([
      ["one", 9_000],
      ["two", 5_000],
    ]);
  });

  test("that are controls disturb nothing, and were not missed", () => {
    const control = { ...armed, ...place, fault: "latency", isControl: true } as const;
    const { faults, missedFaults } = historyWith(
      { ...control, at: 1_000, state: "armed" },
      { ...control, at: 2_000, state: "injected" },
      { ...control, at: 3_000, state: "healed" },
    );
    expect([faults, missedFaults]).toEqual([[], []]);
  });
});

describe("the processor's account", () => {
  test("is arranged by reference, a query for an unknown key with whoever uses that key", () => {
    const { downstream } = new HistorySketch()
      .attempt({ endpoint: "charge" }, 0, 20)
      .books([])
      .account([
        { result: "unknown", key: "k1" },
        { result: "charged", key: "k1" },
        { result: "declined", key: "k2", reference: "other" },
        { result: "unknown", key: "nobody's" },
      ])
      .build();
    if (!downstream.known) throw new Error("the account was read");
    const results = [...downstream.value].map(([reference, { calls, charges }]) => [
      reference,
      calls.map(({ result }) => result),
      charges.length,
    ]);
    expect(results).toEqual([
      ["op", ["unknown", "charged"], 1],
      ["other", ["declined"], 1],
    ]);
  });

  test("is absent without a processor, and unknown when it was not read", () => {
    expect(new HistorySketch().books([]).build().downstream).toMatchObject({ known: false, absent: true });
    expect(new HistorySketch().account([]).build().downstream).toMatchObject({ known: false, absent: false });
  });
});

test("key records are known from the last reading, with its time", () => {
  const records = [
    { key: "key", state: "in_progress" },
    { key: "key", state: "completed" },
  ];
  const history = new HistorySketch().attempt({}, 0, 20).books([], { records }).build();
  expect(history.records).toEqual({ known: true, value: new Map([["key", ["in_progress", "completed"]]]) });
  expect(history.lastReadAt).toBe(1_000_000);
  expect(new HistorySketch().build().lastReadAt).toBeNull();
});

test("a scenario is judged by the last reading of its own stage", () => {
  const [run, started, ...rest] = new HistorySketch().attempt({}, 0, 20).events();
  if (run === undefined || started?.type !== "scenario") throw new Error("sketch");
  const faulty = { ...started, stage: "faulty-1" } as typeof started;
  const read = (stage: "calm" | "faulty-1", reference: string): Event => ({
    type: "observed",
    at: 900_000,
    scenario: null,
    stage,
    books: { effects: [effect(reference)], records: [], quiet: true, failure: null },
  });
  const [history] = historyOf([run, faulty, read("calm", "calm"), read("faulty-1", "op"), ...rest]).scenarios;
  expect(history?.effects.known && [...history.effects.value.keys()]).toEqual(["op"]);
});

describe("the books", () => {
  test("are the last quiet reading, with effects by reference", () => {
    const { effects } = new HistorySketch()
      .attempt({}, 0, 20)
      .observed(10, [effect("early")])
      .books([effect("op", { id: "1" }), effect("other"), effect("op", { id: "2" })])
      .build();
    if (!effects.known) throw new Error("the books were read");
    expect([...effects.value.keys()]).toEqual(["op", "other"]);
    expect(effects.value.get("op")?.map(({ columns }) => columns["id"])).toEqual(["1", "2"]);
  });

  test.each([
    ["never read to the end", []],
    ["could not be read: connection refused", [finalBooks({ effects: null, failure: "connection refused" })]],
    ["never became quiet", [finalBooks({ quiet: false })]],
    ["holds no effects", [finalBooks({ effects: null })]],
    ["never became quiet", [finalBooks({}), finalBooks({ quiet: false })]],
  ])("are unknown, and that is a fault of the run, when they %s", (reason, events) => {
    const [history] = historyOf(withEvents(new HistorySketch().attempt({}, 0, 20), ...events)).scenarios;
    expect(history?.effects).toMatchObject({ known: false, absent: false, reason: expect.stringContaining(reason) });
  });

  test("are absent, and that is no fault, when the target has none", () => {
    const { effects } = new HistorySketch().withoutBooks().attempt({}, 0, 20).build();
    expect(effects).toMatchObject({ known: false, absent: true });
  });

  test("read during the scenario are kept in order, with their time", () => {
    const record = { key: "key", state: "completed" };
    const { observations } = new HistorySketch()
      .observed(10, [])
      .observed(30, [effect("op")], [record])
      .build();
    expect(observations.map(({ at }) => at)).toEqual([10_000, 30_000]);
    expect(observations[1]?.effects?.get("op")).toHaveLength(1);
    expect(observations[1]?.records).toEqual([record]);
  });
});

describe("what is not as expected", () => {
  test("events of an unknown type are passed over and counted", () => {
    const unknown = [
      { type: "tasted", at: 3 },
      { type: "tasted", at: 4 },
      { type: "smelled", at: 5 },
    ] as unknown[];
    const { notes, damage, scenarios } = historyOf(
      withEvents(new HistorySketch().attempt({}, 0, 20), ...(unknown as Event[])),
    );
    expect(notes).toEqual([
      '2 event(s) of the unknown type "tasted" were passed over',
      '1 event(s) of the unknown type "smelled" were passed over',
    ]);
    expect(damage).toEqual([]);
    expect(scenarios[0]?.attempts).toHaveLength(1);
  });

  test("without its beginning a history has nothing to be judged by", () => {
    const history = historyOf(new HistorySketch().attempt({}, 0, 20).events().slice(1));
    expect(history).toMatchObject({ run: null, scenarios: [], attempts: 0 });
  });

  test("without its end it is cut", () => {
    const events = new HistorySketch().attempt({}, 0, 20).events();
    expect(historyOf(events).ending).toBe("done");
    expect(historyOf(events.slice(0, -1)).ending).toBe("cut");
  });

  test("no events at all", () => {
    expect(historyOf([])).toMatchObject({ run: null, scenarios: [], attempts: 0, ending: "cut", durationMs: 0 });
  });
});

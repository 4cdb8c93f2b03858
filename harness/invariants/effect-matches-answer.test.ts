import { expect, test } from "vitest";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { answer, effect, HistorySketch } from "../testing/history-builder.ts";
import { idOf, resultOf, succeeded } from "../testing/naive.ts";
import { effectMatchesAnswer } from "./effect-matches-answer.ts";

const check = (sketch: HistorySketch) => effectMatchesAnswer.check(sketch.build());
/** One answered operation and its one effect. */
const pair = (body: unknown, columns: Readonly<Record<string, string>>) =>
  new HistorySketch().attempt({}, 0, 5, answer(201, body)).books([effect("op", columns)]);
const withText = (text: string, digest?: string) =>
  ({
    kind: "responded",
    status: 201,
    headers: {},
    body: { text, bytes: text.length, ...(digest === undefined ? {} : { digest }) },
  }) as const;

test("an answer whose values no effect has is a violation that shows both", () => {
  expect(check(pair({ amount: 10, currency: "usd", more: 1 }, { amount: "20", currency: "USD", id: "7" }))).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message: "a1 (201) showed amount 10, currency usd, and no effect of op in the books has these values",
        expected: "an effect with amount 10, currency usd",
        actual: "amount 20, currency USD",
        key: "key",
        attempts: ["a1"],
      },
    ],
  });
});

test.each<[unknown, string]>([
  [10, "10.00"],
  ["10", "10.0"],
  ["010", "10"],
  [1e-7, "0.0000001"],
  [1000, "1e3"],
  [0, "-0.0"],
  [-1.5, "-1.50"],
  [0.1, "0.1"],
  ["USD", "usd  "],
  [true, "true"],
  ["9007199254740993", "9007199254740993"],
])("%j in the answer is %j in the books", (shown, held) => {
  expect(check(pair({ value: shown }, { value: held }))).toEqual({ result: "pass", checked: 1 });
});

test.each<[unknown, string]>([
  [10, "100"],
  [10, "1"],
  [10, "-10"],
  [10, ""],
  [1.5, "15"],
  ["9007199254740993", "9007199254740992"],
  ["usd", "eur"],
  [true, "false"],
])("%j in the answer is not %j in the books", (shown, held) => {
  expect(check(pair({ value: shown }, { value: held })).result).toBe("fail");
});

test.each<[string, unknown, string]>([
  ["an object", { cents: 1 }, "1"],
  ["null", null, "1"],
  ["a time in the books", 1700000000, "2026-12-01T00:00:00.000Z"],
  ["a time in the answer", "2026-12-01 00:00:00", "1700000000"],
  ["an integer beyond what JSON.parse keeps", 2 ** 53, "9007199254740993"],
  ["a round number that JSON.parse may have made round", 1e20, "100000000000000000001"],
  ["a fraction beyond what JSON.parse keeps", 0.1 + 0.2, "0.3"],
])("%s is not compared", (_, shown, held) => {
  expect(check(pair({ value: shown }, { value: held })).result).toBe("skip");
});

test("a column that holds a time in any effect is not compared in the others", () => {
  const sketch = new HistorySketch()
    .attempt({}, 0, 5, answer(201, { settled: 17, id: 1 }))
    .books([effect("op", { id: "1", settled: "" }), effect("op", { id: "2", settled: "2026-12-01T00:00:00Z" })]);
  expect(check(sketch)).toEqual({ result: "pass", checked: 1 });
});

test("the target's own mapping goes before equal names", () => {
  const sketch = (amount: number) =>
    new HistorySketch()
      .answers({ cents: "/charge/amount" })
      .attempt({}, 0, 5, answer(201, { id: 1, charge: { amount } }))
      .books([effect("op", { id: "99", cents: "5" })]);
  expect(check(sketch(5))).toEqual({ result: "pass", checked: 1 });
  expect(check(sketch(6)).result).toBe("fail");
});

test("names with the characters of a pointer are names", () => {
  expect(check(pair({ "a/b~c": 1 }, { "a/b~c": "2" })).result).toBe("fail");
});

test("one matching effect is enough, but it must match in all columns", () => {
  const sketch = (...effects: [string, string][]) =>
    new HistorySketch()
      .attempt({}, 0, 5, answer(201, { id: 1, amount: 5 }))
      .books(effects.map(([id, amount]) => effect("op", { id, amount })));
  expect(check(sketch(["2", "5"], ["1", "5"])).result).toBe("pass");
  expect(check(sketch(["2", "5"], ["1", "6"])).result).toBe("fail");
});

test("many effects of one reference are searched as a few are", () => {
  const held = Array.from({ length: 50 }, (_, index) => effect("op", { id: String(index), amount: "5.00" }));
  const sketch = (...ids: string[]) => {
    const history = new HistorySketch();
    for (const [index, id] of ids.entries()) history.attempt({}, index, index + 1, answer(201, { id, amount: 5 }));
    return history.books(held);
  };
  expect(check(sketch("7", "49.0", "0"))).toEqual({ result: "pass", checked: 3 });
  expect(check(sketch("7", "50"))).toMatchObject({
    checked: 2,
    violations: [{ attempts: ["a2"], actual: "id 0, amount 5.00; id 1, amount 5.00; id 2, amount 5.00 and 47 more" }],
  });
});

test("each distinct answer of an operation is compared once, and one violation is enough", () => {
  const sketch = new HistorySketch();
  for (const [index, id] of [1, 1, 2, 3].entries()) sketch.attempt({}, index * 10, index * 10 + 5, answer(201, { id }));
  expect(check(sketch.books([effect("op", { id: "1" })]))).toMatchObject({
    checked: 2,
    violations: [{ attempts: ["a3"] }],
  });
});

test("what is no whole JSON answer to a success with an effect is not compared", () => {
  const held = [effect("op", { id: "1" })];
  const one = (outcome: ReturnType<typeof answer>) => new HistorySketch().attempt({}, 0, 5, outcome).books(held);
  expect(check(one(withText('{"id":2}', "digest"))).result).toBe("skip");
  expect(check(one(withText("<id>2</id>"))).result).toBe("skip");
  expect(check(one(withText("2"))).result).toBe("skip");
  expect(check(one(answer(409, { id: 2 }))).result).toBe("skip");
  expect(check(new HistorySketch().attempt({}, 0, 5, answer(201, { id: 2 })).books([])).result).toBe("skip");
});

test("the effect of a changed payload may be in the books under another reference", () => {
  const changed = { payload: { kind: "changed", field: "/reference" } } as const;
  const sketch = new HistorySketch()
    .attempt({}, 0, 5, answer(201, { id: 1 }))
    .attempt(changed, 6, 9, answer(201, { id: 2 }));
  expect(check(sketch.books([effect("op", { id: "1" }), effect("op-b", { id: "2" })]))).toEqual({
    result: "pass",
    checked: 1,
  });
});

test("without books it is skipped, with books that were never quiet it is inconclusive", () => {
  const sketch = () => new HistorySketch().attempt({}, 0, 20);
  expect(check(sketch().withoutBooks())).toMatchObject({ result: "skip", excused: true });
  expect(check(sketch().books([], { quiet: false })).result).toBe("inconclusive");
});

test("agrees with a brute-force checker", () => {
  agreesWith(effectMatchesAnswer, (history) => {
    if (!history.effects.known) return history.effects.absent ? "skip" : "inconclusive";
    let checked = 0;
    let violated = 0;
    for (const recorded of history.attempts.filter(succeeded)) {
      if (recorded.attempt.payload.kind === "changed") continue;
      const held = history.effects.value.get(recorded.attempt.reference) ?? [];
      if (held.length === 0) continue;
      checked += 1;
      if (!held.some(({ columns }) => columns["id"] === idOf(recorded))) violated += 1;
    }
    return resultOf(violated, checked);
  });
});

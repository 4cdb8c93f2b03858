import { expect, test } from "vitest";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { answer, effect, HistorySketch, lost } from "../testing/history-builder.ts";
import { inTime, resultOf, statusOf } from "../testing/naive.ts";
import { noEffectWithoutAcceptance } from "./no-effect-without-acceptance.ts";

const check = (sketch: HistorySketch) => noEffectWithoutAcceptance.check(sketch.build());

test("an effect of a rejected operation is a ghost, shown with its first rejection", () => {
  const sketch = new HistorySketch()
    .attempt({ operation: "accepted", key: "1" }, 0, 5)
    .attempt({}, 10, 20, answer(422))
    .attempt({}, 30, 40, answer(409))
    .books([effect("accepted"), effect("op")]);
  expect(check(sketch)).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message: "a2 (422) rejected op, and the books hold 1 effect(s) of it",
        expected: "at most 0 effect(s)",
        actual: "1 effect(s) in the books",
        key: "key",
        attempts: ["a2"],
      },
    ],
  });
});

test("a connection that was refused allows no effect either, but alone it is no rejection", () => {
  const refused = { kind: "refused", reason: "ECONNREFUSED" } as const;
  const sketch = () => new HistorySketch().attempt({}, 0, 5, refused);
  expect(check(sketch().books([])).result).toBe("skip");
  expect(
    check(
      sketch()
        .attempt({}, 10, 15, answer(400))
        .books([effect("op")]),
    ).result,
  ).toBe("fail");
});

test("of operations that share a reference only those that may have executed allow an effect", () => {
  const sketch = () =>
    new HistorySketch()
      .attempt({ operation: "one", key: "1", reference: "same" }, 0, 5)
      .attempt({ operation: "two", key: "2", reference: "same" }, 0, 5, answer(422));
  expect(check(sketch().books([effect("same")]))).toEqual({ result: "pass", checked: 1 });
  expect(check(sketch().books([effect("same"), effect("same")])).result).toBe("fail");
});

test.each([
  ["an answer that was lost", lost],
  ["a server error", answer(500)],
  ["a success", answer(201)],
  ["a status that neither accepts nor rejects", answer(202)],
])("%s may have executed, so its effect is no ghost", (_, outcome) => {
  const sketch = new HistorySketch()
    .attempt({}, 0, 5, answer(409))
    .attempt({}, 10, 15, outcome)
    .books([effect("op")]);
  expect(check(sketch).result).toBe("skip");
});

test("a 4xx by which the contract replays a success is no rejection", () => {
  const sketch = new HistorySketch()
    .contract({ replay: { body: "verbatim", statuses: [409], headers: [], marker: null } })
    .attempt({}, 10, 15, answer(409))
    .books([effect("op")]);
  expect(check(sketch).result).toBe("skip");
});

test("after retention, and without an ordinary key, each attempt may have had its own effect", () => {
  const rejected = () =>
    new HistorySketch().attempt({ operation: "two", key: "2", reference: "same" }, 0, 5, answer(422));
  const both = [effect("same"), effect("same")];
  const late = rejected().contract({ retentionMs: 100 });
  late.attempt({ operation: "one", key: "1", reference: "same" }, 0, 5);
  late.attempt({ operation: "one", key: "1", reference: "same" }, 200, 205);
  expect(check(late.books(both)).result).toBe("pass");
  for (const sketch of [{ key: null }, { key: "", malformed: "empty" as const }]) {
    const twice = rejected();
    for (const at of [10, 20]) twice.attempt({ ...sketch, operation: "one", reference: "same" }, at, at + 5);
    expect(check(twice.books(both)).result).toBe("pass");
  }
});

test("without books it is skipped, with books that were never quiet it is inconclusive", () => {
  const sketch = () => new HistorySketch().attempt({}, 0, 20, answer(422));
  expect(check(sketch().withoutBooks())).toMatchObject({ result: "skip", excused: true });
  expect(check(sketch().books([], { quiet: false })).result).toBe("inconclusive");
});

test("agrees with a brute-force checker", () => {
  agreesWith(noEffectWithoutAcceptance, (history) => {
    if (!history.effects.known) return history.effects.absent ? "skip" : "inconclusive";
    let checked = 0;
    let violated = 0;
    for (const reference of new Set(history.attempts.map(({ attempt }) => attempt.reference))) {
      let allowed = 0;
      let isRejectedSomewhere = false;
      for (const name of new Set(history.attempts.map(({ attempt }) => attempt.operation))) {
        const all = history.attempts.filter(
          ({ attempt }) => attempt.operation === name && attempt.reference === reference,
        );
        const [first] = all;
        if (first === undefined) continue;
        const executions = all.filter(
          (recorded) =>
            recorded.outcome.kind !== "refused" && ![400, 403, 404, 409, 422, 429].includes(statusOf(recorded)),
        );
        const isJoined = all.every(
          (one) => one.attempt.key !== null && one.attempt.malformed === null && inTime(history, first, one),
        );
        allowed += isJoined && executions.length > 0 ? 1 : executions.length;
        if (executions.length === 0 && all.some((one) => statusOf(one) > 0)) isRejectedSomewhere = true;
      }
      if (!isRejectedSomewhere) continue;
      checked += 1;
      if ((history.effects.value.get(reference) ?? []).length > allowed) violated += 1;
    }
    return resultOf(violated, checked);
  });
});

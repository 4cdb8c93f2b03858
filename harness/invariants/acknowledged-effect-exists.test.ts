import { expect, test } from "vitest";
import type { Contract } from "../contract.ts";
import type { History } from "../history.ts";
import type { Attempt } from "../operation.ts";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { answer, effect, HistorySketch, lost } from "../testing/history-builder.ts";
import { resultOf, scopes, succeeded } from "../testing/naive.ts";
import { acknowledgedEffectExists } from "./acknowledged-effect-exists.ts";

const check = (sketch: HistorySketch) => acknowledgedEffectExists.check(sketch.build());

test("an acknowledged operation without an effect is lost, shown by its first acknowledgement", () => {
  const sketch = new HistorySketch()
    .attempt({}, 0, 5, answer(500))
    .attempt({}, 10, 15)
    .attempt({}, 20, 25)
    .books([effect("other")]);
  expect(check(sketch)).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message: "op was acknowledged by a2 (201), and the books hold 0 effect(s) of it",
        expected: "1 effect(s)",
        actual: "0 effect(s) in the books",
        key: "key",
        attempts: ["a2"],
      },
    ],
  });
});

test("an acknowledged operation that calls the processor has a charge there", () => {
  const sketch = (endpoint = "charge") => new HistorySketch().attempt({ endpoint }, 0, 5).books([effect("op")]);
  expect(check(sketch().account([{ result: "failed" }]))).toMatchObject({
    result: "fail",
    violations: [{ expected: "1 charge(s)", actual: "0 charge(s) in the processor's books" }],
  });
  expect(check(sketch().account([{ result: "declined" }])).result).toBe("fail");
  expect(check(sketch().account([{ result: "charged" }])).result).toBe("pass");
  expect(check(sketch("create").account([])).result).toBe("pass");
  expect(check(sketch()).result).toBe("pass");
});

test("an effect for each acknowledged operation is right; more of them are another invariant's matter", () => {
  const sketch = () => new HistorySketch().attempt({}, 0, 5).attempt({}, 10, 15);
  expect(check(sketch().books([effect("op")]))).toEqual({ result: "pass", checked: 1 });
  expect(check(sketch().books([effect("op"), effect("op")]))).toEqual({ result: "pass", checked: 1 });
});

test("operations that share a reference need an effect each, as far as they were acknowledged", () => {
  const sketch = (second = answer(201)) =>
    new HistorySketch()
      .attempt({ operation: "one", key: "1", reference: "same" }, 0, 5)
      .attempt({ operation: "two", key: "2", reference: "same" }, 0, 5, second);
  expect(check(sketch().books([effect("same")]))).toMatchObject({
    result: "fail",
    violations: [{ expected: "2 effect(s)", attempts: ["a1", "a2"] }],
  });
  expect(check(sketch(answer(409)).books([effect("same")])).result).toBe("pass");
  expect(check(sketch(lost).books([effect("same")])).result).toBe("pass");
});

test("operations that the contract may take for one need one effect together", () => {
  const sketch = (scope: Contract["scope"], bobsKey = "key") =>
    new HistorySketch()
      .contract({ scope })
      .attempt({ operation: "alice's", reference: "same" }, 0, 5)
      .attempt({ operation: "bob's", reference: "same", caller: "bob", key: bobsKey }, 10, 15)
      .books([effect("same")]);
  const separate = { caller: ["separate"], endpoint: ["separate"], query: ["separate"] } as Contract["scope"];
  expect(check(sketch(separate)).result).toBe("fail");
  expect(check(sketch({ ...separate, caller: "undocumented" })).result).toBe("pass");
  expect(check(sketch({ ...separate, caller: ["shared"] })).result).toBe("pass");
  expect(check(sketch({ ...separate, caller: "undocumented" }, "another")).result).toBe("fail");
});

test("where only the key counts, or a mismatch is undocumented, another payload may get the first one's answer", () => {
  const both = (changes: Parameters<HistorySketch["contract"]>[0]): HistorySketch =>
    new HistorySketch()
      .contract(changes)
      .attempt({ operation: "first" }, 0, 20)
      .attempt({ operation: "other", payload: { kind: "other" } }, 30, 40);
  expect(check(both({ fingerprint: "none" }).books([effect("first")])).result).toBe("pass");
  expect(check(both({ mismatch: "undocumented" }).books([effect("other")])).result).toBe("pass");
  expect(check(both({ fingerprint: "none" }).books([])).result).toBe("fail");
  expect(check(both({}).books([effect("first")])).result).toBe("fail");
});

test("a request whose reference was changed may have taken effect under another name", () => {
  const sketch = new HistorySketch()
    .attempt({}, 0, 5, lost)
    .attempt({ payload: { kind: "changed", field: "/reference" } }, 6, 20)
    .books([effect("op-b")]);
  expect(check(sketch).result).toBe("skip");
});

test("what was not acknowledged may be missing", () => {
  const sketch = new HistorySketch()
    .attempt({ operation: "lost", key: "1" }, 0, 5, lost)
    .attempt({ operation: "failed", key: "2" }, 0, 5, answer(503))
    .attempt({ operation: "rejected", key: "3" }, 0, 5, answer(422))
    .attempt({ operation: "open", key: "4" }, 0, null);
  expect(check(sketch.books([]))).toEqual({
    result: "skip",
    reason: "no operation was acknowledged",
    excused: false,
  });
});

test("without books it is skipped, with books that were never quiet it is inconclusive", () => {
  const sketch = () => new HistorySketch().attempt({}, 0, 20);
  expect(check(sketch().withoutBooks())).toMatchObject({ result: "skip", excused: true });
  expect(check(sketch().books([], { quiet: false })).result).toBe("inconclusive");
  expect(check(sketch()).result).toBe("inconclusive");
});

test("agrees with a brute-force checker", () => {
  agreesWith(acknowledgedEffectExists, (history) => {
    if (!history.effects.known) return history.effects.absent ? "skip" : "inconclusive";
    const firsts = history.operations.flatMap(({ attempts }) =>
      attempts.filter((one) => succeeded(one) && one.attempt.payload.kind !== "changed").slice(0, 1),
    );
    const parts: Attempt[][] = [];
    for (const { attempt } of firsts) {
      const same = parts.find((part) => part.some((other) => mayBeOne(history, attempt, other)));
      if (same) same.push(attempt);
      else parts.push([attempt]);
    }
    let violated = 0;
    const leaders = new Set(parts.map(([leader]) => leader?.reference));
    for (const leader of leaders) {
      const own = parts.filter((part) => part[0]?.reference === leader);
      const references = new Set(own.flat().map(({ reference }) => reference));
      const found = [...references].flatMap((one) =>
        history.effects.known ? (history.effects.value.get(one) ?? []) : [],
      );
      const { downstream } = history;
      const charges = [...references].flatMap((one) =>
        downstream.known ? (downstream.value.get(one)?.charges ?? []) : [],
      );
      const paid = charges.filter(({ status }) => status === "succeeded");
      const needsCharges = downstream.known && own.every(([first]) => first?.endpoint === "charge");
      if (found.length < own.length || (needsCharges && paid.length < own.length)) violated += 1;
    }
    const checked = leaders.size;
    return resultOf(violated, checked);
  });
});

/** Do both use one key, as far as the contract promises to tell keys apart? */
function mayBeOne({ contract }: History, one: Attempt, other: Attempt): boolean {
  if (one.key === null || other.key === null) return false;
  const isSameText =
    one.key === other.key ||
    (contract.key.caseSensitive === "undocumented" && one.key.toLowerCase() === other.key.toLowerCase());
  const areSeparated = scopes.some(
    (dimension) => String(contract.scope[dimension]) === "separate" && one[dimension] !== other[dimension],
  );
  const { fingerprint, mismatch } = contract;
  const onlyKeyCounts = ["none", "undocumented"].includes(fingerprint) || mismatch === "undocumented";
  return isSameText && !areSeparated && (onlyKeyCounts || one.reference === other.reference);
}

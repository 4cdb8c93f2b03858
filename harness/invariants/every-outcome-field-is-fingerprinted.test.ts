import { expect, test } from "vitest";
import type { Outcome, Payload } from "../operation.ts";
import { agreesWith, oneKeyHistory } from "../testing/arbitrary-history.ts";
import { type AttemptSketch, answer, HistorySketch, lost } from "../testing/history-builder.ts";
import { followers, mismatched, resultOf, statusOf, succeeded } from "../testing/naive.ts";
import { everyOutcomeFieldIsFingerprinted } from "./every-outcome-field-is-fingerprinted.ts";

const check = (sketch: HistorySketch) => everyOutcomeFieldIsFingerprinted.check(sketch.build());
const amount: AttemptSketch = { payload: { kind: "changed", field: "/amount" } };
const pair = (side: "first" | "second", index = 0): AttemptSketch => ({ payload: { kind: "pair", index, side } });
const after = (outcome: Outcome, sketch = amount, first: AttemptSketch = {}) =>
  new HistorySketch().attempt(first, 10, 20).attempt(sketch, 30, 40, outcome);

test("a changed field that is answered with a success is a violation that names it, once", () => {
  const sketch = after(answer(201, { id: 1 }))
    .attempt({ key: "2" }, 10, 20)
    .attempt({ ...amount, key: "2" }, 30, 40);
  expect(check(sketch)).toEqual({
    result: "fail",
    checked: 2,
    violations: [
      {
        message: "changing /amount alone was answered as the same request: a2 (201) after a1 (201)",
        expected: "422",
        actual: '201 {"id":1}',
        key: "key",
        attempts: ["a1", "a2"],
      },
    ],
  });
});

test("each field, and each endpoint, is accused for itself", () => {
  const item: AttemptSketch = { payload: { kind: "changed", field: "/item" } };
  const sketch = after(answer(201)).attempt(item, 50, 60).attempt({ endpoint: "refund" }, 10, 20);
  expect(check(sketch.attempt({ endpoint: "refund", ...amount }, 30, 40))).toMatchObject({
    violations: [{ attempts: ["a1", "a2"] }, { attempts: ["a1", "a3"] }, { attempts: ["a4", "a5"] }],
  });
});

test("a mismatch is right", () => {
  expect(check(after(answer(422)))).toEqual({ result: "pass", checked: 1 });
  expect(check(after(answer(422), amount, { payload: { kind: "spelling", name: "spaced" } })).result).toBe("pass");
});

test("the two requests of a pair are two requests, whichever comes first", () => {
  expect(check(after(answer(201), pair("second"), pair("first")))).toMatchObject({
    violations: [{ message: "the second request of pair 1 was answered as the same request: a2 (201) after a1 (201)" }],
  });
  expect(check(after(answer(201), pair("first"), pair("second"))).result).toBe("fail");
  expect(check(after(answer(422), pair("second"), pair("first"))).result).toBe("pass");
});

test.each<[string, AttemptSketch, AttemptSketch]>([
  ["another reference too", { ...amount, operation: "other" }, {}],
  ["another field too", amount, { payload: { kind: "changed", field: "/item" } }],
  ["every field", { payload: { kind: "other" } }, {}],
  ["nothing", amount, amount],
  ["a pair from the plain request", pair("second"), {}],
  ["one pair from another", pair("second", 1), pair("first", 0)],
  ["nothing within a pair", pair("first"), pair("first")],
])("what differs in %s shows nothing of a single field", (_, second, first) => {
  for (const status of [201, 422]) expect(check(after(answer(status), second, first)).result).toBe("skip");
});

test.each<[string, HistorySketch]>([
  ["in flight with its owner", new HistorySketch().attempt({}, 10, 20).attempt(amount, 15, 30)],
  ["without an owner", new HistorySketch().attempt({}, 10, 20, lost).attempt(amount, 30, 40)],
  ["after retention", after(answer(201)).contract({ retentionMs: 30 })],
  ["under a malformed key", after(answer(201), { ...amount, malformed: "too-long" })],
  ["in a conflict", after(answer(409))],
  ["in a server error", after(answer(500))],
  ["with a lost answer", after(lost)],
])("a change %s is not judged", (_, sketch) => {
  expect(check(sketch)).toMatchObject({ result: "skip", excused: false });
});

test("a field whose every other value was refused as invalid was never looked at", () => {
  const refused = after(answer(400)).attempt({ payload: { kind: "changed", field: "/item" } }, 50, 60, answer(422));
  expect(check(refused)).toEqual({
    result: "inconclusive",
    reason: "every try of another /amount of create was refused as invalid: give another valid value in `outcome`",
  });
  expect(check(after(answer(400), pair("second"), pair("first")))).toEqual({
    result: "inconclusive",
    reason: "pair 1 of create was refused as invalid every time: give two valid requests in `different`",
  });
});

test("one judged try, one that was not refused, or a violation elsewhere goes before that", () => {
  const again = (sketch: HistorySketch, outcome: Outcome, payload?: Payload) =>
    sketch.attempt(payload ? { payload } : amount, 50, 60, outcome);
  expect(check(again(after(answer(400)), answer(422)))).toEqual({ result: "pass", checked: 1 });
  expect(check(again(after(answer(400)), answer(500))).result).toBe("skip");
  const item: Payload = { kind: "changed", field: "/item" };
  expect(check(again(after(answer(400)), answer(201), item)).result).toBe("fail");
});

test("a status that means both is a mismatch", () => {
  expect(check(after(answer(400)).contract({ mismatch: [{ status: 400 }] }))).toEqual({ result: "pass", checked: 1 });
});

test("without a documented fingerprint and mismatch it is skipped and excused", () => {
  for (const silence of [
    { fingerprint: "none" },
    { fingerprint: "undocumented" },
    { mismatch: "undocumented" },
  ] as const) {
    expect(check(after(answer(201)).contract(silence))).toMatchObject({ result: "skip", excused: true });
  }
});

test("agrees with a brute-force checker", () => {
  agreesWith(
    everyOutcomeFieldIsFingerprinted,
    (history) => {
      const { fingerprint, mismatch } = history.contract;
      if (["none", "undocumented"].includes(fingerprint) || mismatch === "undocumented") return "skip";
      const seen: { thing: string; verdict: "right" | "wrong" | "invalid" | "open" }[] = [];
      for (const { owner, later } of followers(history)) {
        const [one, two] = [owner.attempt, later.attempt];
        if (one.reference !== two.reference || statusOf(later) === 0) continue;
        const isPair =
          one.payload.kind === "pair" && two.payload.kind === "pair" && one.fingerprint !== two.fingerprint;
        const isChange = ["original", "spelling"].includes(one.payload.kind) && two.payload.kind === "changed";
        if (!isPair && !isChange) continue;
        const thing = JSON.stringify([two.endpoint, isPair ? [one.payload, two.payload] : two.payload]);
        const verdict = succeeded(later)
          ? "wrong"
          : mismatched(history, later)
            ? "right"
            : statusOf(later) === 400
              ? "invalid"
              : "open";
        seen.push({ thing, verdict });
      }
      if (seen.some(({ verdict }) => verdict === "wrong")) return "fail";
      for (const { thing } of seen) {
        if (seen.every((one) => one.thing !== thing || one.verdict === "invalid")) return "inconclusive";
      }
      return resultOf(0, seen.filter(({ verdict }) => verdict === "right").length);
    },
    4_000,
    oneKeyHistory,
  );
});

import { expect, test } from "vitest";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { anyTakeover } from "../testing/arbitrary-takeover.ts";
import { answer, effect, HistorySketch, respelled } from "../testing/history-builder.ts";
import { headerOf, resultOf, saidIn } from "../testing/naive-answers.ts";
import { naiveTakeovers } from "../testing/naive-takeover.ts";
import { singleTakeover } from "./single-takeover.ts";

const check = (sketch: HistorySketch) => singleTakeover.check(sketch.build());
const elsewhere = { replica: 1 };
const taken = answer(201, { id: 1 });
const replayed = answer(201, { id: 1 }, { "idempotency-replayed": "true" });

/** Held by a1 on the paused replica, a2 told to wait, taken over by a3. */
function takeover(): HistorySketch {
  return new HistorySketch()
    .contract({ leaseMs: 100 })
    .paused(0, 10, 300)
    .attempt({}, 0, 310, replayed)
    .attempt(elsewhere, 20, 25, answer(409))
    .attempt(elsewhere, 150, 170, taken);
}

test("two effects while the holder was paused are a violation", () => {
  expect(check(takeover().observed(200, [effect("op"), effect("op")]))).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message:
          "while the holder a1 was paused its key was taken over, as a3 (201) shows, and the books then held 2 effects of op",
        expected: "at most 1 effect(s) of op during the pause",
        actual: "2 effects in the books",
        key: "key",
        attempts: ["a1", "a3"],
      },
    ],
  });
});

test("a status that also means another payload shows a held key, where the key had one payload", () => {
  const both = () => takeover().contract({ leaseMs: 100, mismatch: [{ status: 409 }] });
  const two = [effect("op"), effect("op")];
  expect(check(both().observed(200, two)).result).toBe("fail");
  const other = { ...elsewhere, operation: "other", payload: { kind: "other" } } as const;
  expect(check(both().attempt(other, 30, 35, answer(409)).observed(200, two)).result).toBe("skip");
});

test("two different answers while the holder was paused are a violation", () => {
  expect(check(takeover().attempt(elsewhere, 151, 171, answer(201, { id: 2 })))).toMatchObject({
    result: "fail",
    violations: [{ attempts: ["a3", "a4"], expected: '{"id":1}', actual: '{"id":2}' }],
  });
});

test("one answer in two spellings is one answer", () => {
  const spelled = answer(201, { id: 1 }, { "idempotency-replayed": "true" });
  expect(check(takeover().attempt(elsewhere, 151, 171, respelled(spelled)))).toEqual({ result: "pass", checked: 1 });
});

test("two answers that are not marked are a violation, where this target marks its replays", () => {
  const twice = () => takeover().attempt(elsewhere, 151, 171, taken);
  expect(check(twice())).toMatchObject({ violations: [{ attempts: ["a3", "a4"] }] });
  const never = new HistorySketch()
    .contract({ leaseMs: 100 })
    .paused(0, 10, 300)
    .attempt({}, 0, 310, taken)
    .attempt(elsewhere, 20, 25, answer(409))
    .attempt(elsewhere, 150, 170, taken)
    .attempt(elsewhere, 151, 171, taken);
  expect(check(never)).toEqual({ result: "pass", checked: 1 });
});

test("one takeover, its replays and its one effect are right", () => {
  const sketch = takeover().attempt(elsewhere, 151, 171, replayed).attempt(elsewhere, 152, 160, answer(409));
  expect(check(sketch.observed(200, [effect("op")]))).toEqual({ result: "pass", checked: 1 });
});

test("what the books held before the takeover or after the pause does not count", () => {
  expect(check(takeover().observed(160, [effect("op"), effect("op")])).result).toBe("skip");
  expect(check(takeover().observed(310, [effect("op"), effect("op")])).result).toBe("skip");
});

test("without proof that the holder had the key there was no takeover", () => {
  const observed = (sketch: HistorySketch) => check(sketch.observed(200, [effect("op"), effect("op")])).result;
  const base = () => new HistorySketch().contract({ leaseMs: 100 }).paused(0, 10, 300).attempt({}, 0, 310, replayed);
  expect(observed(base().attempt(elsewhere, 150, 170, taken))).toBe("skip");
  const losers = base().attempt(elsewhere, 150, 170, taken).attempt(elsewhere, 151, 160, answer(409));
  expect(observed(losers)).toBe("skip");
});

test("a holder that answered in time, or was not in flight, or stood on another replica, lost nothing", () => {
  const observed = (sketch: HistorySketch) =>
    check(
      sketch
        .attempt(elsewhere, 20, 25, answer(409))
        .attempt(elsewhere, 150, 170, taken)
        .observed(200, [effect("op"), effect("op")]),
    ).result;
  const base = () => new HistorySketch().contract({ leaseMs: 100 }).paused(0, 10, 300);
  expect(observed(base().attempt({}, 0, 9))).toBe("skip");
  expect(observed(base().attempt({}, 0, 27, taken))).toBe("skip");
  expect(observed(base().attempt({}, 11, 310))).toBe("skip");
  expect(observed(base().attempt({ replica: 1 }, 0, 310))).toBe("skip");
});

test("operations that share a reference on purpose take effect once each", () => {
  const sketch = takeover().attempt({ operation: "twin", reference: "op", key: "twin" }, 0, 20);
  expect(check(sketch.observed(200, [effect("op"), effect("op")])).result).toBe("pass");
});

test("what retention may have forgotten is not judged", () => {
  const sketch = takeover().contract({ leaseMs: 100, retentionMs: 250 });
  expect(check(sketch.observed(200, [effect("op"), effect("op")])).result).toBe("skip");
});

test("a silent contract is excused, a scenario without a pause is not", () => {
  expect(check(takeover().contract({ leaseMs: "undocumented" }))).toMatchObject({ result: "skip", excused: true });
  const inFlight = { answers: "undocumented", retryAfter: "optional" } as const;
  expect(check(takeover().contract({ inFlight }))).toMatchObject({ result: "skip", excused: true });
  expect(check(new HistorySketch().attempt({}, 0, 20))).toMatchObject({ result: "skip", excused: false });
});

test("the lease of a holder that was killed or hangs is taken over once, too", () => {
  // Who never wakes up is taken over when its lease is over, though the fault was healed before.
  for (const [fault, how, heals] of [
    ["kill-replica", "killed", 30],
    ["hang", "hung", 30],
    ["delay", "delayed", 300],
  ] as const) {
    const held = () =>
      new HistorySketch()
        .contract({ leaseMs: 100 })
        .fault(fault, { replica: 0, operation: "op", phase: "claimed" }, 10, heals)
        .attempt({}, 0, 400, { kind: "indeterminate", reason: "timeout" })
        .attempt(elsewhere, 20, 25, answer(409))
        .attempt({}, 150, 170, taken);
    expect(check(held().attempt(elsewhere, 180, 190, replayed)), fault).toEqual({ result: "pass", checked: 1 });
    expect(check(held().attempt(elsewhere, 151, 171, answer(201, { id: 2 }))), fault).toMatchObject({
      result: "fail",
      violations: [{ message: expect.stringContaining(`while the holder of their key was ${how}`) }],
    });
  }
});

test("agrees with a brute-force checker", () => {
  agreesWith(
    singleTakeover,
    (history) => {
      const { contract } = history;
      const { answers } = contract.inFlight;
      if (contract.leaseMs === "undocumented" || answers === "undocumented" || answers.length === 0) return "skip";
      const hasMarker = contract.replay.marker !== null;
      const isMarked = (one: (typeof history.attempts)[number]) => headerOf(one, "idempotency-replayed") === "true";
      const marks = hasMarker && history.attempts.some(isMarked);
      const isVerbatim = contract.replay.body === "verbatim";
      let checked = 0;
      let violated = 0;
      for (const { all, window, taker, successes, isSafe } of naiveTakeovers(history)) {
        const reading = history.observations
          .filter(({ at, effects }) => effects !== null && at > taker.completedAt && at <= window.until)
          .at(-1);
        const canRead = isSafe && reading !== undefined;
        if (!canRead && (successes.length < 2 || !(marks || isVerbatim))) continue;
        checked += 1;
        const tooMany = all.some(({ attempt: { reference } }) => {
          const operations = history.operations.filter((one) => one.reference === reference).length;
          return canRead && (reading.effects?.get(reference)?.length ?? 0) > operations;
        });
        const unmarked = successes.filter((one) => !isMarked(one)).length;
        const differ = isVerbatim && successes.some((one) => saidIn(one) !== saidIn(taker));
        if (tooMany || differ || (marks && unmarked > 1)) violated += 1;
      }
      return resultOf(checked, violated);
    },
    3_000,
    anyTakeover,
  );
});

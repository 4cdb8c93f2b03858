import fc from "fast-check";
import { expect, test } from "vitest";
import type { Contract } from "../contract.ts";
import type { Recorded } from "../history.ts";
import { agreesWith, historiesWith, onOneKey, variedContract } from "../testing/arbitrary-history.ts";
import { answer, HistorySketch, lost } from "../testing/history-builder.ts";
import {
  bodyOf,
  certainKeys,
  earliestSuccess,
  headerOf,
  meet,
  resultOf,
  saidIn,
  sameAnswer,
  sameRequest,
  statusOf,
  succeeded,
  turnedAway,
} from "../testing/naive-answers.ts";
import { retentionIsKept } from "./retention-is-kept.ts";

const check = (sketch: HistorySketch) => retentionIsKept.check(sketch.build());
const first = answer(201, { reference: "op" });
const own = answer(201, { reference: "later" });
const later = { operation: "later" };

/** Acknowledged at 20 ms under a retention of 1000 ms: surely forgotten at 1270 ms. */
function kept(afterRetention: Contract["afterRetention"] = ["new"]): HistorySketch {
  return new HistorySketch().contract({ retentionMs: 1000, afterRetention }).attempt({}, 0, 20, first);
}

test("an answer that is gone before its retention ends is a violation", () => {
  expect(check(kept().attempt({}, 600, 610, answer(201, { reference: "op", id: 2 })))).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message: "a2 (201) came within retention and did not get the answer of a1 (201): another body at /id",
        expected: '{"reference":"op"}',
        actual: '{"reference":"op","id":2}',
        key: "key",
        attempts: ["a1", "a2"],
      },
    ],
  });
  expect(check(kept().attempt({}, 600, 610, answer(422))).result).toBe("fail");
});

test("what a key had lost before, or never had for itself, it does not lose to time", () => {
  const other = answer(201, { reference: "op", id: 2 });
  expect(check(kept().attempt({}, 100, 110, other).attempt({}, 600, 610, other)).result).toBe("skip");
  expect(check(kept().attempt({}, 5, 30, other).attempt({}, 600, 610, other)).result).toBe("skip");
  expect(check(kept().attempt({}, 100, 110, answer(422)).attempt({}, 600, 610, other)).result).toBe("skip");
  expect(check(kept().attempt({}, 5, 30, lost).attempt({}, 600, 610, other)).result).toBe("skip");
  const changed = { payload: { kind: "other" } } as const;
  expect(check(kept().attempt(changed, 100, 110, answer(422)).attempt({}, 600, 610, answer(422))).result).toBe("skip");
  expect(check(kept().attempt({}, 600, 610, answer(422)).attempt(changed, 700, 710, answer(422))).result).toBe("fail");
  const refused = { kind: "refused", reason: "ECONNREFUSED" } as const;
  expect(check(kept().attempt({}, 5, 10, refused).attempt({}, 600, 610, other)).result).toBe("fail");
});

test("what a fault took away is not lost to time", () => {
  const other = answer(201, { reference: "op", id: 2 });
  const crashed = kept().fault("database-crash", {}, 300, 310);
  expect(check(crashed.attempt({}, 600, 610, other)).result).toBe("skip");
  const later = kept().fault("database-crash", {}, 700, 710);
  expect(check(later.attempt({}, 600, 610, other)).result).toBe("fail");
});

test("an old answer after retention is a violation, by its marker or by its body", () => {
  expect(check(kept().attempt(later, 1_300, 1_310, first))).toMatchObject({
    result: "fail",
    violations: [
      {
        message: "a2 (201) used the key of a1 (201) after its retention, and got the old answer",
        expected: "a success of its own",
        actual: 'the old answer, {"reference":"op"}',
        attempts: ["a1", "a2"],
      },
    ],
  });
  const marked = answer(201, { reference: "later" }, { "idempotency-replayed": "true" });
  expect(check(kept().attempt(later, 1_300, 1_310, marked)).result).toBe("fail");
});

test("a key that still belongs to the first request after retention is a violation", () => {
  expect(check(kept().attempt(later, 1_300, 1_310, answer(422)))).toMatchObject({
    violations: [{ expected: "a success of its own", actual: "a2 (422)" }],
  });
});

test("a replay before and a new operation after are right", () => {
  expect(check(kept().attempt({}, 600, 610, first))).toEqual({ result: "pass", checked: 1 });
  expect(check(kept().attempt(later, 1_300, 1_310, own))).toEqual({ result: "pass", checked: 1 });
  const both = kept().attempt({}, 600, 610, first).attempt(later, 1_900, 1_910, own).attempt(later, 1_920, 1_930, own);
  expect(check(both)).toEqual({ result: "pass", checked: 2 });
});

test("equal bodies that name no operation may be two answers", () => {
  const plain = answer(201, { ok: true });
  const sketch = new HistorySketch().contract({ retentionMs: 1000 }).attempt({}, 0, 20, plain);
  expect(check(sketch.attempt(later, 1_300, 1_310, plain)).result).toBe("pass");
  const shared = kept().attempt({ operation: "later", reference: "op" }, 1_300, 1_310, first);
  expect(check(shared).result).toBe("pass");
});

test("nothing is judged near the end of retention, nor before a whole one has passed since the last use", () => {
  expect(check(kept().attempt({}, 990, 1_000, answer(422))).result).toBe("skip");
  expect(check(kept().attempt(later, 1_270, 1_280, answer(422))).result).toBe("skip");
  expect(check(kept().attempt({}, 400, 410, first).attempt(later, 1_400, 1_410, answer(422))).result).toBe("skip");
  expect(check(kept().attempt(later, 400, 410, answer(422)).attempt(later, 1_700, 1_710, own)).result).toBe("skip");
  expect(check(kept().attempt({}, 400, 410, lost).attempt(later, 1_700, 1_710, answer(422))).result).toBe("skip");
  expect(check(kept().attempt({}, 5, null).attempt(later, 1_700, 1_710, answer(422))).result).toBe("skip");
});

test("the first operation itself is not judged after retention", () => {
  expect(check(kept().attempt({}, 1_300, 1_310, answer(201, { id: 9 }))).result).toBe("skip");
});

test("a later operation that meets its own duplicate or another one is not refused for the old key", () => {
  const duplicates = kept().attempt(later, 1_300, 1_340, own).attempt(later, 1_301, 1_310, answer(409));
  expect(check(duplicates).result).toBe("skip");
  const stranger = kept().attempt(later, 1_300, 1_340, answer(422)).attempt({ operation: "third" }, 1_301, 1_310);
  expect(check(stranger).result).toBe("skip");
  const after = kept().attempt(later, 1_300, 1_340, own).attempt({ operation: "third" }, 1_400, 1_410, answer(422));
  expect(check(after)).toEqual({ result: "pass", checked: 1 });
});

test("invalid and failing requests, server errors and rate limits after retention are not judged", () => {
  const invalid = { ...later, payload: { kind: "invalid" } } as const;
  expect(check(kept().attempt(invalid, 1_300, 1_310, answer(400))).result).toBe("skip");
  expect(check(kept().attempt({ ...later, condition: "fails" }, 1_300, 1_310, answer(400))).result).toBe("skip");
  expect(check(kept().attempt(later, 1_300, 1_310, answer(503))).result).toBe("skip");
  expect(check(kept().attempt(later, 1_300, 1_310, answer(429))).result).toBe("skip");
});

test("a contract may refuse the key after retention, or leave the choice", () => {
  expect(check(kept(["refused"]).attempt(later, 1_300, 1_310, answer(400))).result).toBe("pass");
  expect(check(kept(["refused"]).attempt(later, 1_300, 1_310, answer(302))).result).toBe("fail");
  expect(check(kept(["refused"]).attempt(later, 1_300, 1_310, own))).toMatchObject({
    violations: [{ expected: "a refusal" }],
  });
  expect(check(kept(["new", "refused"]).attempt(later, 1_300, 1_310, answer(410))).result).toBe("pass");
  expect(check(kept(["new", "refused"]).attempt(later, 1_300, 1_310, own)).result).toBe("pass");
  expect(check(kept(["new", "refused"]).attempt(later, 1_300, 1_310, first)).result).toBe("fail");
  expect(check(kept("undocumented").attempt(later, 1_300, 1_310, first)).result).toBe("skip");
});

test("an undocumented retention is excused", () => {
  expect(check(kept().contract({ retentionMs: "undocumented" }))).toMatchObject({ result: "skip", excused: true });
});

test("agrees with a brute-force checker", () => {
  const histories = historiesWith({
    contract: fc
      .record({
        varied: variedContract,
        retentionMs: fc.constantFrom<Contract["retentionMs"]>(20, 20, 20, 300, "undocumented"),
      })
      .map(({ varied, retentionMs }) => ({ ...varied, retentionMs })),
    sketch: fc
      .record({ operation: fc.constantFrom("one", "one", "two", "three") })
      .chain((sketch) => onOneKey.sketch.map((base) => ({ ...base, ...sketch }))),
    outcome: fc.constantFrom(
      answer(201, { id: "one" }),
      answer(201, { id: "one" }),
      answer(201, { id: "two" }),
      answer(201, { id: "one" }, { "idempotency-replayed": "true" }),
      ...[409, 422, 503].map((status) => answer(status)),
    ),
    from: fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: 0, max: 40 }) },
      { weight: 2, arbitrary: fc.integer({ min: 300, max: 340 }) },
      { weight: 1, arbitrary: fc.integer({ min: 700, max: 740 }) },
    ),
  });
  agreesWith(
    retentionIsKept,
    (history) => {
      const { contract } = history;
      const { retentionMs, afterRetention } = contract;
      if (retentionMs === "undocumented") return "skip";
      const retention = retentionMs * 1000;
      const speaksOfKey = (one: Recorded) => statusOf(one) > 0 && statusOf(one) < 500 && !turnedAway(contract, one);
      let checked = 0;
      let violated = 0;
      const judge = (isRight: boolean): void => {
        checked += 1;
        if (!isRight) violated += 1;
      };
      for (const attempts of certainKeys(history)) {
        const original = earliestSuccess(attempts);
        if (original === undefined) continue;
        const start = Math.min(...attempts.map(({ invokedAt }) => invokedAt));
        for (const one of attempts) {
          if (one.invokedAt <= original.completedAt || !sameRequest(contract, one, original)) continue;
          if (one.attempt.condition === "fails" || !speaksOfKey(one)) continue;
          if (one.invokedAt <= start + retention / 2 || one.completedAt >= start + retention) continue;
          const isRival = (other: Recorded) =>
            other !== original && other.outcome.kind !== "refused" && other.invokedAt <= original.completedAt;
          if (attempts.some(isRival)) continue;
          const isMeddler = (other: Recorded) =>
            other.outcome.kind !== "refused" &&
            other.invokedAt <= one.completedAt &&
            !sameRequest(contract, other, original);
          if (attempts.some(isMeddler)) continue;
          const wasLost = attempts.some(
            (other) =>
              other.completedAt < one.invokedAt &&
              other.invokedAt > original.completedAt &&
              sameRequest(contract, other, original) &&
              other.attempt.condition !== "fails" &&
              speaksOfKey(other) &&
              !sameAnswer(contract, original, other),
          );
          if (
            wasLost ||
            history.faults.some(({ from, until }) => meet(from, until, original.invokedAt, one.completedAt))
          )
            continue;
          judge(sameAnswer(contract, original, one));
        }
        for (const operation of new Set(attempts.map(({ attempt }) => attempt.operation))) {
          if (operation === original.attempt.operation || afterRetention === "undocumented") continue;
          const reached = attempts.filter(({ outcome }) => outcome.kind !== "refused");
          const ofIt = reached.filter(({ attempt }) => attempt.operation === operation);
          const begins = Math.min(...ofIt.map(({ invokedAt }) => invokedAt));
          const ends = Math.min(...ofIt.map(({ completedAt }) => completedAt));
          const one = ofIt.find(({ completedAt }) => completedAt === ends);
          if (one === undefined || begins <= original.completedAt || !speaksOfKey(one)) continue;
          if (one.attempt.payload.kind === "invalid" || one.attempt.condition === "fails") continue;
          const others = reached.filter(({ attempt }) => attempt.operation !== operation);
          const usedRecently = others.some((other) => {
            if (other.invokedAt > one.completedAt) return false;
            const usedAt = other.outcome.kind === "responded" ? other.completedAt : Infinity;
            return begins <= usedAt + retention + 250_000;
          });
          if (usedRecently) continue;
          const isAlone = ofIt.every((other) => other === one || other.invokedAt > one.completedAt);
          if (!isAlone && !succeeded(one)) continue;
          const isMarked = contract.replay.marker !== null && headerOf(one, "idempotency-replayed") === "true";
          const isOld =
            (isAlone && isMarked) ||
            (saidIn(one) === saidIn(original) &&
              bodyOf(one).includes(original.attempt.reference) &&
              one.attempt.reference !== original.attempt.reference);
          if (succeeded(one)) judge(!isOld && afterRetention.includes("new"));
          else judge(statusOf(one) >= 400 && afterRetention.includes("refused"));
        }
      }
      return resultOf(checked, violated);
    },
    5_000,
    histories,
  );
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { History } from "./history.ts";
import type { InvariantId } from "./invariants/list.ts";
import { invariants } from "./invariants/list.ts";
import { type KeyClass, reconcile, together } from "./reconciliation.ts";
import { anyHistory, historiesWith, onOneKey } from "./testing/arbitrary-history.ts";
import { type AttemptSketch, answer, type CallSketch, effect, HistorySketch, lost } from "./testing/history-builder.ts";

const completed = [{ key: "key", state: "completed" }];
const inProgress = [{ key: "key", state: "in_progress" }];
const charge: AttemptSketch = { endpoint: "charge" };
const one = [effect("op")];
const charged: CallSketch[] = [{ result: "charged" }];

function classes(sketch: HistorySketch): readonly KeyClass[] {
  const { counts } = reconcile(sketch.build());
  return (Object.entries(counts) as [KeyClass, number][]).flatMap(([name, count]) => Array(count).fill(name));
}

describe("a key is", () => {
  const told = (outcome = answer(201)) => new HistorySketch().attempt({}, 0, 20, outcome);
  const toldOfCharge = (outcome = answer(201)) => new HistorySketch().attempt(charge, 0, 20, outcome);

  test.each<[KeyClass, string, HistorySketch]>([
    ["exactly-once", "acknowledged, and in the books once", told().books(one, { records: completed })],
    ["exactly-once", "the same with a charge", toldOfCharge().books(one, { records: completed }).account(charged)],
    ["duplicated", "two effects", told().books([...one, ...one], { records: completed })],
    [
      "duplicated",
      "two charges",
      toldOfCharge()
        .books(one)
        .account([...charged, ...charged]),
    ],
    ["lost", "acknowledged, and not in the books", told().books([], { records: completed })],
    [
      "lost",
      "charged and completed, without an effect",
      toldOfCharge(lost).books([], { records: completed }).account(charged),
    ],
    ["ghost", "refused, and in the books", told(answer(400)).books(one)],
    ["refused", "refused, and not in the books", told(answer(400)).books([], { records: completed })],
    [
      "refused",
      "declined",
      toldOfCharge(answer(402))
        .books([], { records: completed })
        .account([{ result: "declined" }]),
    ],
    ["refused", "never sent", told({ kind: "refused", reason: "ECONNREFUSED" }).books([])],
    ["resolved-unknown", "unanswered, and the books agree on one", told(lost).books(one, { records: completed })],
    ["resolved-unknown", "unanswered, and the books agree on none", told(lost).books([])],
    [
      "resolved-unknown",
      "unanswered and failed",
      told(lost).books([], { records: [{ key: "key", state: "failed_retryable" }] }),
    ],
    [
      "unresolved-unknown",
      "charged, no ledger row, not completed",
      toldOfCharge(lost).books([], { records: inProgress }).account(charged),
    ],
    ["unresolved-unknown", "in progress to the end", told(lost).books([], { records: inProgress })],
    ["unresolved-unknown", "an effect without a charge", toldOfCharge().books(one, { records: completed }).account([])],
    ["unresolved-unknown", "an effect, and its record not completed", told().books(one, { records: inProgress })],
  ])("%s: %s", (expected, _, sketch) => {
    expect(classes(sketch)).toEqual([expected]);
  });

  test("as good as its operations, where several share a reference on purpose", () => {
    const twins = new HistorySketch()
      .attempt({ operation: "one", key: "1", reference: "op" }, 0, 20)
      .attempt({ operation: "two", key: "2", reference: "op" }, 0, 20);
    expect(classes(twins.books([...one, ...one]))).toEqual(["exactly-once"]);
    expect(classes(twins.books([...one, ...one, ...one]))).toEqual(["duplicated"]);
    expect(classes(twins.books(one))).toEqual(["lost"]);
  });
});

test("a key that outlived its retention is counted and not classed", () => {
  const late = new HistorySketch().contract({ retentionMs: 100 }).attempt({}, 0, 20).attempt({}, 150, 170);
  expect(reconcile(late.books([...one, ...one]).build())).toMatchObject({ notCompared: 1, unresolved: [] });
  expect(classes(late)).toEqual([]);
});

test("an unresolved key is listed with all that is known", () => {
  const torn = new HistorySketch()
    .attempt(charge, 0, 20, lost)
    .attempt(charge, 30, 40, answer(409))
    .books([], { records: inProgress })
    .account(charged);
  expect(reconcile(torn.build()).unresolved).toEqual([
    {
      scenario: "tested",
      reference: "op",
      key: "key",
      lastAnswer: "a2: 409 (in flight)",
      effects: 0,
      charges: 1,
      record: "in_progress",
    },
  ]);
});

test("without books nothing is compared, and the reason is given", () => {
  const blind = reconcile(new HistorySketch().withoutBooks().attempt({}, 0, 20).build());
  expect(blind.reason).toBe("the target file names no books (effects)");
  expect(together([blind]).reason).toBe(blind.reason);
  const seeing = reconcile(new HistorySketch().attempt({}, 0, 20).books(one).build());
  expect(together([blind, seeing])).toMatchObject({ reason: null, counts: { "exactly-once": 1 } });
});

/** Every class that says that a promise was broken, and an invariant that then must have failed. */
const broken: Partial<Record<KeyClass, readonly InvariantId[]>> = {
  duplicated: ["at-most-one-effect", "one-downstream-operation"],
  lost: ["acknowledged-effect-exists", "atomic-record-and-effect"],
  ghost: ["no-effect-without-acceptance"],
};

const onlyCharges: fc.Arbitrary<AttemptSketch> = fc.record({
  endpoint: fc.constant("charge"),
  caller: fc.constant("alice"),
  query: fc.constant(""),
  forged: fc.constant(false),
});

test("what is duplicated, lost or a ghost is always a violation too", () => {
  const seen = new Set<string>();
  const check = (history: History): void => {
    const { counts } = reconcile(history);
    for (const [name, count] of Object.entries(counts)) if (count > 0) seen.add(name);
    for (const [name, ids] of Object.entries(broken)) {
      if (counts[name as KeyClass] === 0) continue;
      const failed = invariants.filter(({ id }) => (ids as readonly string[]).includes(id));
      if (!failed.some((invariant) => invariant.check(history).result === "fail")) {
        throw new Error(`a key is ${name}, and neither of ${ids.join(", ")} fails`);
      }
    }
  };
  const charges = historiesWith({ sketch: onlyCharges });
  fc.assert(fc.property(fc.oneof(anyHistory, historiesWith(onOneKey), charges), check), {
    numRuns: 6_000,
    seed: 20261201,
  });
  expect([...seen].sort()).toEqual(
    ["duplicated", "exactly-once", "ghost", "lost", "refused", "resolved-unknown", "unresolved-unknown"].sort(),
  );
});

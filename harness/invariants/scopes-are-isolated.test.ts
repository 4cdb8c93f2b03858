import { expect, test } from "vitest";
import type { Treatment } from "../contract.ts";
import { strict } from "../contracts/strict.ts";
import type { History, Recorded } from "../history.ts";
import type { Outcome } from "../operation.ts";
import { agreesWith } from "../testing/arbitrary-history.ts";
import { type AttemptSketch, answer, HistorySketch, lost } from "../testing/history-builder.ts";
import {
  bodyOf,
  groupOf,
  idOf,
  inTime,
  marked,
  mismatched,
  ownerOfAll,
  resultOf,
  saidIn,
  scopes,
  statusOf,
  succeeded,
} from "../testing/naive.ts";
import { scopesAreIsolated } from "./scopes-are-isolated.ts";

const check = (sketch: HistorySketch) => scopesAreIsolated.check(sketch.build());
const replayed = { "idempotency-replayed": "true" };
const bob: AttemptSketch = { operation: "of-bob", caller: "bob" };
/** Alice's success, then the same key elsewhere. */
const after = (outcome: Outcome, sketch = bob, first = answer(201, { of: "op" })) =>
  new HistorySketch().attempt({}, 0, 10, first).attempt(sketch, 20, 30, outcome);
const scope = (caller: Treatment) => ({ scope: { ...strict.scope, caller } });

test("an answer that shows the owner's reference elsewhere is a violation that says where", () => {
  expect(check(after(answer(201, { of: "op" })))).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message:
          "a2 (201) used the key of a1 (201), sent with caller alice, with caller bob and got its answer: it shows op, which only the owner had sent",
        expected: "an operation of its own",
        actual: '201 {"of":"op"}',
        key: "key",
        attempts: ["a1", "a2"],
      },
    ],
  });
});

test.each<[string, AttemptSketch]>([
  ["caller", { caller: "bob" }],
  ["endpoint", { endpoint: "refund" }],
  ["query", { query: "q=1" }],
])("another %s is another scope", (_, elsewhere) => {
  const sketch = { operation: "second", ...elsewhere };
  expect(check(after(answer(201, { of: "op" }), sketch)).result).toBe("fail");
  expect(check(after(answer(201, { of: "second" }), sketch))).toEqual({ result: "pass", checked: 1 });
});

test("the way back from a query to none is told in words", () => {
  const sketch = new HistorySketch()
    .attempt({ query: "q=1" }, 0, 10)
    .attempt({ operation: "second" }, 20, 30, answer(422));
  expect(check(sketch)).toMatchObject({
    violations: [{ message: "a2 (422) used the key of a1 (201), sent with query q=1, with no query and was refused" }],
  });
});

test("two differences at once are not judged", () => {
  expect(check(after(answer(409), { operation: "second", caller: "bob", query: "q=1" })).result).toBe("skip");
});

test("a reference that the request carried itself may be in its answer", () => {
  const sketch: AttemptSketch = { caller: "bob", operation: "second", body: '{"of":"op"}' };
  expect(check(after(answer(201, { of: "op" }), sketch)).result).toBe("pass");
  expect(check(after(answer(201, { of: "op" }), { caller: "bob", operation: "second", reference: "op" })).result).toBe(
    "pass",
  );
});

test("a replay marker on the first answer of a scope is a violation, on later ones it is none", () => {
  const own = (headers = {}) => answer(201, { of: "of-bob" }, headers);
  expect(check(after(own(replayed))).result).toBe("fail");
  expect(check(after(own()).attempt(bob, 40, 50, own(replayed))).result).toBe("pass");
  expect(check(after(own(replayed)).attempt(bob, 25, 50, own())).result).toBe("pass");
  expect(check(after(own(replayed), { ...bob, forged: true })).result).toBe("pass");
  expect(check(after(own(replayed)).contract({ replay: { ...strict.replay, marker: null } })).result).toBe("pass");
});

/** Alice's success and bob's, with equal bodies, and one more of alice's. */
const bodies = (first: unknown, second: unknown, more: AttemptSketch = { operation: "more", key: "more" }) =>
  after(answer(201, first), bob, answer(201, first)).attempt(more, 0, 10, answer(201, second));

test("equal bodies are the owner's answer where bodies tell executions apart", () => {
  expect(check(bodies({ id: 7 }, { id: 8 }))).toMatchObject({
    result: "fail",
    violations: [{ attempts: ["a1", "a2"] }],
  });
});

test.each<[string, HistorySketch]>([
  ["bodies are equal for all", bodies({ ok: true }, { ok: true })],
  ["there is no other execution to compare with", after(answer(201, { id: 7 }), bob, answer(201, { id: 7 }))],
  ["bodies differ only by caller", bodies({ id: 7 }, { id: 8 }, { operation: "more", key: "more", caller: "bob" })],
  [
    "bodies differ only by endpoint",
    bodies({ id: 7 }, { id: 8 }, { operation: "more", key: "more", endpoint: "refund" }),
  ],
  [
    "bodies differ only by payload",
    bodies({ id: 7 }, { id: 8 }, { operation: "more", key: "more", payload: { kind: "other" } }),
  ],
  ["bodies differ only by the key in them", bodies({ id: "key" }, { id: "more" })],
  [
    "bodies differ only by the reference in them",
    after(answer(201, { of: "same" }), { ...bob, reference: "same" }, answer(201, { of: "op" }))
      .attempt({ operation: "one", key: "one", reference: "same" }, 0, 10, answer(201, { of: "same" }))
      .attempt({ operation: "one", key: "one", reference: "same", caller: "bob" }, 20, 30, answer(201, { of: "same" })),
  ],
])("equal bodies show nothing where %s", (_, sketch) => {
  expect(check(sketch).result).toBe("pass");
});

test("a first attempt that is refused in a scope of its own is a violation", () => {
  for (const status of [409, 422, 404, 202]) expect(check(after(answer(status))).result).toBe("fail");
});

test.each<[string, HistorySketch]>([
  ["a server error", after(answer(500))],
  ["a rate limit", after(answer(429))],
  ["a caller without rights", after(answer(403))],
  ["a caller who is not known", after(answer(401))],
  ["a lost answer", after(lost)],
  ["an invalid request", after(answer(400), { ...bob, payload: { kind: "invalid" } })],
  ["a refusal of forged headers", after(answer(400), { ...bob, forged: true })],
  ["a malformed key", after(answer(400), { ...bob, malformed: "charset" })],
  ["a use before the owner's answer", new HistorySketch().attempt({}, 0, 10).attempt(bob, 10, 20, answer(409))],
  ["a use without an owner", after(answer(409), bob, answer(500))],
  ["another key", after(answer(409), { ...bob, key: "other" })],
  [
    "a key in another case, where the contract is silent",
    after(answer(409), { ...bob, key: "KEY" }).contract({
      key: { ...strict.key, caseSensitive: "undocumented" },
    }),
  ],
  ["a use after retention", after(answer(201, { of: "op" })).contract({ retentionMs: 30 })],
])("%s is not judged", (_, sketch) => {
  expect(check(sketch)).toMatchObject({ result: "skip", excused: false });
});

test("what the other scope's own attempts explain is not judged", () => {
  const own = () => after(answer(201, { of: "of-bob" }));
  expect(check(own().attempt(bob, 25, 40, answer(409)))).toEqual({ result: "pass", checked: 1 });
  expect(check(own().attempt({ ...bob, payload: { kind: "other" } }, 40, 50, answer(422))).result).toBe("pass");
  expect(check(after(answer(409)).attempt(bob, 25, 40, lost)).result).toBe("skip");
});

test("a third group that may share the key can explain a refusal, one that is separate cannot", () => {
  const third = (endpoint: Treatment) =>
    after(answer(409))
      .attempt({ operation: "third", caller: "bob", endpoint: "refund" }, 15, 40, lost)
      .contract({ scope: { ...strict.scope, endpoint } });
  expect(check(third(["shared"])).result).toBe("skip");
  expect(check(third("undocumented")).result).toBe("skip");
  expect(check(third(["separate", "mismatch"])).result).toBe("skip");
  expect(check(third(["separate"])).result).toBe("fail");
  const far = after(answer(409)).attempt(
    { operation: "third", caller: "bob", endpoint: "refund", query: "q=1" },
    15,
    40,
    lost,
  );
  expect(check(far.contract({ scope: { ...strict.scope, endpoint: ["shared"] } })).result).toBe("fail");
});

test("the earliest owner is the one that counts", () => {
  const sketch = new HistorySketch()
    .attempt({ caller: "bob", operation: "late" }, 0, 40, answer(201, { of: "late" }))
    .attempt({ operation: "early" }, 5, 10, answer(201, { of: "early" }))
    .attempt({ caller: "bob", operation: "late" }, 50, 60, answer(201, { of: "early" }));
  expect(check(sketch)).toMatchObject({ violations: [{ attempts: ["a2", "a3"] }] });
});

test("where scopes are refused, a mismatch is right and a success is a violation", () => {
  expect(check(after(answer(422)).contract(scope(["mismatch"])))).toEqual({ result: "pass", checked: 1 });
  expect(check(after(answer(201, { of: "of-bob" })).contract(scope(["mismatch"])))).toMatchObject({
    violations: [{ expected: "a mismatch (422)" }],
  });
  expect(check(after(answer(409)).contract(scope(["mismatch"]))).result).toBe("fail");
  const silent = { ...scope(["mismatch"]), mismatch: "undocumented" as const };
  expect(check(after(answer(422)).contract(silent)).result).toBe("skip");
});

test("where scopes are shared, the owner's answer is right, and a mismatch for another payload", () => {
  const shared = scope(["shared"]);
  const same: AttemptSketch = { caller: "bob", operation: "of-bob", reference: "op" };
  expect(check(after(answer(201, { of: "op" }), same).contract(shared))).toEqual({ result: "pass", checked: 1 });
  expect(check(after(answer(422), same).contract(shared))).toMatchObject({
    violations: [{ expected: "the owner's answer" }],
  });
  expect(check(after(answer(422), bob).contract(shared)).result).toBe("pass");
  expect(check(after(answer(422), bob).contract({ ...shared, mismatch: "undocumented" })).result).toBe("skip");
});

test("where the contract allows several treatments, each is right", () => {
  const either = scope(["separate", "mismatch"]);
  expect(check(after(answer(422)).contract(either)).result).toBe("pass");
  expect(check(after(answer(201, { of: "of-bob" })).contract(either)).result).toBe("pass");
  expect(check(after(answer(201, { of: "op" })).contract(either))).toMatchObject({
    violations: [{ expected: "an operation of its own or a mismatch (422)" }],
  });
});

test("a mismatch told with the status of a success is a mismatch", () => {
  const mismatch = [{ status: 201, pointer: "/code", value: "mismatch" }];
  expect(check(after(answer(201, { code: "mismatch" })).contract({ ...scope(["mismatch"]), mismatch })).result).toBe(
    "pass",
  );
});

test("where the contract is silent on all that keys were tried with, it is excused", () => {
  const onCaller = () => after(answer(409)).contract(scope("undocumented"));
  expect(check(onCaller())).toMatchObject({
    reason: "the contract leaves the scope of a key (caller) undocumented",
    excused: true,
  });
  // Another query was tried too, of which the contract does speak, and it came too early to be judged.
  expect(check(onCaller().attempt({ query: "q=1" }, 5, 40))).toMatchObject({ result: "skip", excused: false });
  expect(check(new HistorySketch().attempt({}, 0, 10))).toMatchObject({ result: "skip", excused: false });
  const silent = { caller: "undocumented", endpoint: "undocumented", query: "undocumented" } as const;
  expect(check(after(answer(409)).contract({ scope: silent }))).toMatchObject({
    reason: "the contract leaves the scope of a key undocumented",
    excused: true,
  });
});

test("agrees with a brute-force checker", () => {
  agreesWith(
    scopesAreIsolated,
    (history) => {
      let checked = 0;
      let violated = 0;
      for (const b of history.attempts) {
        const found = judged(history, b);
        if (found === null) continue;
        checked += 1;
        if (found === "wrong") violated += 1;
      }
      return resultOf(violated, checked);
    },
    6_000,
  );
});

/** One attempt by the sentence alone; null where it cannot be judged. */
function judged(history: History, b: Recorded): "right" | "wrong" | null {
  const { contract, attempts } = history;
  const taken = (one: Recorded) =>
    contract.key.caseSensitive === true ? one.attempt.key : (one.attempt.key?.toLowerCase() ?? null);
  const bucket = attempts.filter((one) => taken(one) !== null && taken(one) === taken(b));
  if (bucket.some(({ attempt }) => attempt.malformed !== null)) return null;
  let a: Recorded | null = null;
  for (const one of bucket) {
    const owner = ownerOfAll(history, groupOf(history, one));
    if (owner !== null && (a === null || owner.completedAt < a.completedAt)) a = owner;
  }
  if (a === null || b.attempt.key !== a.attempt.key || b.invokedAt <= a.completedAt) return null;
  const owner = a;
  const [first] = groupOf(history, owner);
  if (first === undefined || !inTime(history, first, b)) return null;
  const differences = (one: Recorded, other: Recorded) =>
    scopes.filter((dimension) => one.attempt[dimension] !== other.attempt[dimension]);
  const [dimension, ...more] = differences(owner, b);
  if (dimension === undefined || more.length > 0) return null;
  const allowed = contract.scope[dimension];
  if (allowed === "undocumented" || [0, 403, 429, 503].includes(statusOf(b))) return null;
  const mayExplain = (one: Recorded) =>
    one !== b &&
    !groupOf(history, owner).includes(one) &&
    differences(one, b).every((each) => JSON.stringify(contract.scope[each]) !== '["separate"]');
  const isLone = !b.attempt.forged && !bucket.some((one) => mayExplain(one) && one.invokedAt <= b.completedAt);
  if (succeeded(b)) {
    if (allowed.includes("shared")) return "right";
    if (!allowed.includes("separate")) return "wrong";
    const { reference } = owner.attempt;
    const isShown =
      bodyOf(b).includes(reference) && b.attempt.reference !== reference && !b.attempt.request.body.includes(reference);
    return isShown || (isLone && marked(b)) || (saidIn(b) === saidIn(owner) && areTelling(history, owner))
      ? "wrong"
      : "right";
  }
  const isOther = b.attempt.fingerprint !== owner.attempt.fingerprint;
  if (allowed.includes("mismatch") || (allowed.includes("shared") && isOther)) {
    if (contract.mismatch === "undocumented") return null;
    if (mismatched(history, b)) return "right";
  }
  return isLone && b.attempt.payload.kind !== "invalid" ? "wrong" : null;
}

function areTelling(history: History, a: Recorded): boolean {
  const alike = new Map<string, string>();
  for (const one of history.attempts) {
    if (ownerOfAll(history, groupOf(history, one)) !== one) continue;
    if (scopes.some((dimension) => one.attempt[dimension] !== a.attempt[dimension])) continue;
    if (JSON.stringify(one.attempt.payload) !== JSON.stringify(a.attempt.payload)) continue;
    alike.set(one.attempt.key ?? "", idOf(one) === one.attempt.reference ? "" : idOf(one));
  }
  return alike.size >= 2 && new Set(alike.values()).size === alike.size;
}

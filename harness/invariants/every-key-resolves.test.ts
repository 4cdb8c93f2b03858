import fc from "fast-check";
import { expect, test } from "vitest";
import { RESOLVE_MARGIN_MS } from "../evidence/persistence.ts";
import type { Recorded } from "../history.ts";
import { agreesWith, historiesWith, onOneKey, variedContract } from "../testing/arbitrary-history.ts";
import { answer, HistorySketch, lost } from "../testing/history-builder.ts";
import { boundFrom, resultOf, statusOf, toldToWait, underFault } from "../testing/naive-answers.ts";
import { everyKeyResolves } from "./every-key-resolves.ts";

const LEASE_MS = 1000;
const LIMIT_MS = LEASE_MS + RESOLVE_MARGIN_MS;
const conflict = answer(409);
const client = { persistent: true };
const check = (sketch: HistorySketch) => everyKeyResolves.check(sketch.build());
const sketch = () => new HistorySketch().contract({ leaseMs: LEASE_MS });

test("a client that is told to wait beyond lease and margin is a violation", () => {
  const stuck = sketch().attempt({}, 0, 5, lost).attempt(client, 10, 20, conflict).attempt(client, 900, 910, conflict);
  expect(check(stuck.attempt(client, LIMIT_MS + 10, LIMIT_MS + 20, conflict))).toEqual({
    result: "fail",
    checked: 1,
    violations: [
      {
        message: "a4 (409): still 409 after 4000 ms of obeying Retry-After since a2",
        expected: "a final answer within 4000 ms",
        actual: "409",
        key: "key",
        attempts: ["a2", "a4"],
      },
    ],
  });
});

test("server errors and silence are no final answers", () => {
  for (const outcome of [answer(500), lost, { kind: "indeterminate", reason: "timeout" } as const]) {
    const stuck = sketch()
      .attempt(client, 0, 10, conflict)
      .attempt(client, LIMIT_MS, LIMIT_MS + 9, outcome);
    expect(check(stuck).result).toBe("fail");
  }
});

test("a client that gets its answer at last is right, also a refusal", () => {
  for (const outcome of [answer(201), answer(422)]) {
    const done = sketch()
      .attempt(client, 0, 10, conflict)
      .attempt(client, LIMIT_MS, LIMIT_MS + 10, outcome);
    expect(check(done)).toEqual({ result: "pass", checked: 1 });
  }
});

test("a client that was interrupted proves nothing", () => {
  const cut = sketch()
    .attempt(client, 0, 10, conflict)
    .attempt(client, LIMIT_MS - 1, LIMIT_MS + 500, conflict);
  expect(check(cut)).toMatchObject({ result: "skip", excused: false });
  expect(check(sketch().attempt(client, 0, 10, conflict).attempt(client, LIMIT_MS, null)).result).toBe("skip");
});

test("a client that comes back after its answer has not waited since before", () => {
  const back = sketch()
    .attempt(client, 0, 10)
    .attempt(client, LIMIT_MS, LIMIT_MS + 10, conflict);
  expect(check(back).result).toBe("skip");
});

test("attempts that are not repeated, or have no key, are not looked at", () => {
  const once = sketch()
    .attempt({}, 0, 10, conflict)
    .attempt({}, LIMIT_MS, LIMIT_MS + 10, conflict);
  expect(check(once).result).toBe("skip");
  const keyless = { key: null, ...client };
  expect(
    check(
      sketch()
        .attempt(keyless, 0, 9, conflict)
        .attempt(keyless, LIMIT_MS, LIMIT_MS + 9, conflict),
    ).result,
  ).toBe("skip");
});

test("what a fault explains is not the key's doing, a conflict during a fault is", () => {
  const during = (outcome: typeof conflict) =>
    check(
      sketch()
        .paused(0, LIMIT_MS - 100, LIMIT_MS + 100)
        .attempt(client, 0, 10, conflict)
        .attempt(client, LIMIT_MS, LIMIT_MS + 10, outcome),
    ).result;
  expect(during(lost)).toBe("skip");
  expect(during(answer(503))).toBe("skip");
  expect(during(conflict)).toBe("fail");
});

test("a target that cannot be reached says nothing of the key", () => {
  const gone = sketch().attempt(client, 0, 10, conflict);
  expect(check(gone.attempt(client, LIMIT_MS, LIMIT_MS + 1, { kind: "refused", reason: "ECONNREFUSED" })).result).toBe(
    "skip",
  );
});

test("where the answer in flight is undocumented the usual ones are not final", () => {
  const inFlight = { answers: "undocumented", retryAfter: "optional" } as const;
  for (const status of [409, 423, 425, 429]) {
    const silent = new HistorySketch().contract({ leaseMs: LEASE_MS, inFlight }).attempt(client, 0, 9, answer(status));
    expect(check(silent).result).toBe("skip");
  }
});

test("an undocumented lease is excused", () => {
  const silent = new HistorySketch().contract({ leaseMs: "undocumented" }).attempt(client, 0, 10);
  expect(check(silent)).toMatchObject({ result: "skip", excused: true });
});

test("a fault that strikes once gives its holder's lease its time, and no more", () => {
  for (const fault of ["kill-replica", "hang", "delay", "throw"]) {
    const place = fault === "kill-replica" ? { replica: 0 } : { replica: 0, operation: "op", phase: "claimed" };
    const stuck = (lastAt: number) =>
      sketch()
        .fault(fault, place, 500, 60_000)
        .attempt(client, 0, 510, lost)
        .attempt({ ...client, replica: 1 }, 600, 610, conflict)
        .attempt({ ...client, replica: 1 }, lastAt, lastAt + 10, conflict);
    expect(check(stuck(LIMIT_MS + 499)).result, fault).toBe("skip");
    expect(check(stuck(LIMIT_MS + 600)).result, fault).toBe("fail");
  }
});

test("a fault that goes on may take one holder after the other, until it is healed", () => {
  const during = (heals: number) =>
    sketch()
      .fault("processor", { operation: "op" }, 0, heals)
      .attempt(client, 10, 20, answer(503))
      .attempt(client, 30, 40, conflict)
      .attempt(client, 9_000, 9_010, conflict);
  expect(check(during(20_000)).result).toBe("skip");
  expect(check(during(6_000)).result).toBe("skip");
  expect(check(during(5_000)).result).toBe("fail");
});

test("a fault of another operation excuses nothing", () => {
  const other = sketch()
    .fault("hang", { operation: "another", phase: "claimed", replica: 0 }, 0, 60_000)
    .attempt({ operation: "another", key: "another" }, 0, 60_000, lost)
    .attempt(client, 10, 20, answer(503));
  expect(check(other.attempt(client, LIMIT_MS + 10, LIMIT_MS + 20, answer(503))).result).toBe("fail");
});

test("agrees with a brute-force checker", () => {
  const histories = historiesWith({
    contract: variedContract,
    sketch: onOneKey.sketch,
    outcome: fc.constantFrom(...[201, 409, 409, 409, 409, 409, 429, 503].map((status) => answer(status)), lost, {
      kind: "refused",
      reason: "ECONNREFUSED",
    } as const),
    from: fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: 0, max: 40 }) },
      { weight: 2, arbitrary: fc.integer({ min: 3_000, max: 3_030 }) },
      { weight: 2, arbitrary: fc.integer({ min: 3_990, max: 4_040 }) },
    ),
  });
  agreesWith(
    everyKeyResolves,
    (history) => {
      const { contract } = history;
      const { leaseMs } = contract;
      if (leaseMs === "undocumented") return "skip";
      const isWaiting = (one: Recorded) =>
        contract.inFlight.answers === "undocumented"
          ? [409, 423, 425, 429].includes(statusOf(one))
          : toldToWait(contract, one);
      const isFinal = (one: Recorded) => statusOf(one) > 0 && statusOf(one) < 500 && !isWaiting(one);
      let checked = 0;
      let violated = 0;
      for (const operation of new Set(history.attempts.map(({ attempt }) => attempt.operation))) {
        const tries = history.attempts.filter((one) => {
          if (one.attempt.operation !== operation || !one.attempt.persistent || one.attempt.key === null) return false;
          if (isFinal(one) || isWaiting(one)) return true;
          if (one.outcome.kind === "refused" || underFault(history, one)) return false;
          return one.outcome.kind === "responded" || !["open", "aborted"].includes(one.outcome.reason);
        });
        const last = tries.at(-1);
        if (last === undefined) continue;
        const waiting = tries.filter((one) =>
          tries.every((done) => !isFinal(done) || done.completedAt < one.invokedAt),
        );
        const waited = waiting.includes(last) ? last.invokedAt - boundFrom(history, waiting[0] ?? last, last) : 0;
        if (isFinal(last)) checked += 1;
        else if (waited >= (leaseMs + 3_000) * 1000) {
          checked += 1;
          violated += 1;
        }
      }
      return resultOf(checked, violated);
    },
    3_000,
    histories,
  );
});

/**
 * Small histories around one fault that holds a key up: an attempt that was in flight there, others that were told to
 * wait or served elsewhere, readings of the books. Chance alone would hardly ever tell this story.
 */
import fc from "fast-check";
import type { Contract } from "../contract.ts";
import type { Effect } from "../event.ts";
import type { History } from "../history.ts";
import type { Outcome } from "../operation.ts";
import { type AttemptSketch, answer, effect, HistorySketch, lost, respelled } from "./history-builder.ts";

const FROM = 10;
const UNTIL = 40;

interface Play {
  readonly sketch: AttemptSketch;
  readonly from: number;
  readonly until: number | null;
  readonly outcome: Outcome;
}

const success = fc
  .record({
    id: fc.constantFrom("1", "1", "1", "2"),
    isMarked: fc.boolean(),
    spell: fc.constantFrom((one: Outcome) => one, respelled),
  })
  .map(({ id, isMarked, spell }) => spell(answer(201, { id }, isMarked ? { "idempotency-replayed": "true" } : {})));

function play(
  replicas: readonly [number, ...number[]],
  from: fc.Arbitrary<number>,
  until: (from: number) => fc.Arbitrary<number | null>,
  outcome: fc.Arbitrary<Outcome>,
): fc.Arbitrary<Play> {
  const sketch = fc.record({
    operation: fc.constantFrom("one", "one", "one", "one", "one", "two"),
    replica: fc.constantFrom(...replicas),
    payload: fc.constantFrom<NonNullable<AttemptSketch["payload"]>>(
      ...Array.from({ length: 9 }, () => ({ kind: "original" }) as const),
      { kind: "other" },
    ),
  });
  return fc
    .record({ sketch, outcome, times: from.chain((at) => fc.record({ from: fc.constant(at), until: until(at) })) })
    .map(({ sketch, outcome, times }) => ({ sketch, outcome, ...times }));
}

const between = (min: number, max: number) => fc.integer({ min, max });

const holder = play(
  [0],
  between(0, 11),
  () => fc.oneof({ weight: 6, arbitrary: between(UNTIL, 60) }, { weight: 1, arbitrary: fc.constantFrom(9, 12, null) }),
  fc.oneof({ weight: 4, arbitrary: success }, fc.constantFrom(lost, answer(409), answer(422))),
);
const told = play(
  [1],
  between(9, 14),
  (at) => between(at + 1, at + 4),
  fc.oneof({ weight: 6, arbitrary: fc.constant(answer(409)) }, success),
);
const served = play(
  [1, 1, 1, 1, 0],
  between(13, 35),
  (at) => between(at + 1, at + 9),
  fc.oneof({ weight: 5, arbitrary: success }, fc.constantFrom(answer(409), lost)),
);
const later = play([0, 1], between(41, 60), (at) => between(at + 1, at + 9), success);

const effects: fc.Arbitrary<Effect[]> = fc.array(
  fc.constantFrom("one", "one", "one", "one", "two").map((operation) => effect(operation)),
  { maxLength: 3 },
);

const contract: fc.Arbitrary<Partial<Contract>> = fc.record({
  leaseMs: fc.constantFrom<Contract["leaseMs"]>(1, 1, 1, 1, "undocumented"),
  retentionMs: fc.constantFrom<Contract["retentionMs"]>(86_400_000, 86_400_000, "undocumented", 45),
  inFlight: fc.record({
    answers: fc.constantFrom<Contract["inFlight"]["answers"]>(
      ...Array.from({ length: 8 }, () => [{ status: 409 }]),
      [],
      "undocumented",
    ),
    retryAfter: fc.constant("optional" as const),
  }),
  replay: fc.record({
    body: fc.constantFrom<Contract["replay"]["body"]>("verbatim", "verbatim", "current-state"),
    statuses: fc.constant([]),
    headers: fc.constant([]),
    marker: fc.constantFrom(null, { header: "idempotency-replayed", value: "true" }),
  }),
});

export const anyTakeover: fc.Arbitrary<History> = fc
  .record({
    contract,
    attempts: fc
      .tuple(
        fc.array(holder, { minLength: 1, maxLength: 2 }),
        fc.array(told, { minLength: 1, maxLength: 2 }),
        fc.array(served, { minLength: 1, maxLength: 3 }),
        fc.array(later, { maxLength: 1 }),
      )
      .map((groups) => groups.flat()),
    kind: fc.constantFrom("pause-replica", "pause-replica", "pause-replica", "kill-replica", "hang", "delay"),
    heals: fc.constantFrom(true, true, true, false),
    readings: fc.array(fc.record({ at: between(15, 45), effects }), { maxLength: 2 }),
    books: fc.option(effects, { freq: 4 }),
  })
  .map(({ contract: changes, attempts, kind, heals, readings, books }) => {
    const history = new HistorySketch()
      .contract(changes)
      .fault(kind, { replica: 0, operation: "one" }, FROM, heals ? UNTIL : null);
    for (const { sketch, from, until, outcome } of attempts) history.attempt(sketch, from, until, outcome);
    for (const { at, effects } of readings.sort((one, other) => one.at - other.at)) history.observed(at, effects);
    if (books) history.books(books);
    return history.build();
  });

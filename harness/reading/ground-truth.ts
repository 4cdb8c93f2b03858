/** The books' last word on a stage: by reference and by key, or why there is none. */
import type { Account, Call, Charge } from "../account.ts";
import type { Books, Effect, KeyRecord, RunFacts } from "../event.ts";
import type { Downstream, GroundTruth, History } from "../history.ts";
import type { Micros } from "../operation.ts";

export interface LastReading {
  readonly at: Micros;
  readonly books: Books;
}

export type Truths = Pick<History, "effects" | "records" | "downstream" | "lastReadAt">;

export function truthsIn(run: RunFacts, last: LastReading | null): Truths {
  const { books } = run;
  const final = last?.books ?? null;
  return {
    lastReadAt: last?.at ?? null,
    effects: groundTruth(books.effects, final, "effects", final?.effects && effectsByReference(final.effects)),
    records: groundTruth(books.records, final, "key records", final?.records && statesByKey(final.records)),
    downstream: groundTruth(
      books.downstream ?? false,
      final,
      "the processor's account",
      final?.account && downstreamByReference(final.account),
    ),
  };
}

function groundTruth<Value>(
  hasBooks: boolean,
  final: Books | null,
  what: string,
  value: Value | null | undefined,
): GroundTruth<Value> {
  if (!hasBooks) return { known: false, absent: true, reason: `the target file names no books (${what})` };
  if (final === null) return { known: false, absent: false, reason: "the books were never read to the end" };
  if (final.failure !== null) {
    return { known: false, absent: false, reason: `the books could not be read: ${final.failure}` };
  }
  if (!final.quiet) return { known: false, absent: false, reason: "the system never became quiet" };
  if (value === null || value === undefined) {
    return { known: false, absent: false, reason: `the last reading holds no ${what}` };
  }
  return { known: true, value };
}

function statesByKey(records: readonly KeyRecord[]): ReadonlyMap<string, readonly string[]> {
  const byKey = new Map<string, readonly string[]>();
  // Almost every key has one record: those of equal states share one list.
  const alone = new Map<string, readonly string[]>();
  for (const { key, state } of records) {
    const known = byKey.get(key);
    const own = alone.get(state) ?? [state];
    alone.set(state, own);
    byKey.set(key, known === undefined ? own : [...known, state]);
  }
  return byKey;
}

/** A status query may come before any call that names the operation: it belongs to whoever uses its key later. */
function downstreamByReference({ calls, charges }: Account): ReadonlyMap<string, Downstream> {
  const referenceOfKey = new Map<string, string>();
  for (const { key, reference } of calls) if (key !== null && reference !== null) referenceOfKey.set(key, reference);
  const byReference = new Map<string, { calls: Call[]; charges: Charge[] }>();
  const at = (reference: string): { calls: Call[]; charges: Charge[] } => {
    const known = byReference.get(reference) ?? { calls: [], charges: [] };
    byReference.set(reference, known);
    return known;
  };
  for (const call of calls) {
    const reference = call.reference ?? (call.key === null ? undefined : referenceOfKey.get(call.key));
    if (reference !== undefined) at(reference).calls.push(call);
  }
  for (const charge of charges) at(charge.reference).charges.push(charge);
  return byReference;
}

export function effectsByReference(effects: readonly Effect[]): ReadonlyMap<string, readonly Effect[]> {
  const byReference = new Map<string, Effect[]>();
  for (const effect of effects) {
    const known = byReference.get(effect.operation);
    if (known) known.push(effect);
    else byReference.set(effect.operation, [effect]);
  }
  return byReference;
}

/**
 * What the answer says happened is what the books hold. Values are compared as values: decimals by amount,
 * text without regard to case. Not compared: times, which books and answers write in their own ways, and
 * numbers with more digits than JSON.parse keeps.
 */

import type { Effect } from "../event.ts";
import { endpointOf, isSuccess, name, parseJson, valueAt } from "../evidence/answers.ts";
import type { History, OperationRecord, Recorded } from "../history.ts";
import { type Invariant, type Violation, verdictOf, violation, withoutBooks } from "../invariant.ts";

export const effectMatchesAnswer = {
  id: "effect-matches-answer",
  level: "must",
  statement: "The values in the answer to an operation are those of its effect in the books",

  check(history: History) {
    if (!history.effects.known) return withoutBooks(history.effects);
    const effects = history.effects.value;
    const indexes = new Map<string, EffectIndex>();
    const violations: Violation[] = [];
    let checked = 0;
    for (const operation of history.operations) {
      const found = effects.get(operation.reference);
      if (found === undefined) continue;
      const index = indexes.get(operation.reference) ?? new EffectIndex(found);
      indexes.set(operation.reference, index);
      const result = compared(history, operation, index);
      checked += result.checked;
      if (result.violation) violations.push(result.violation);
    }
    return verdictOf(checked, violations, "no success showed values that the books hold too");
  },
} as const satisfies Invariant;

/** Compares each distinct answer of an operation once, up to the first that matches no effect. */
function compared(
  history: History,
  { reference, attempts }: OperationRecord,
  index: EffectIndex,
): { readonly checked: number; readonly violation: Violation | null } {
  const seen = new Set<string>();
  let checked = 0;
  for (const recorded of attempts) {
    if (!isSuccess(history, recorded) || mayBearAnotherReference(recorded)) continue;
    const { text, digest } = recorded.outcome.body;
    if (digest !== undefined || seen.has(text)) continue;
    seen.add(text);
    const shown = valuesShown(parseJson(text), endpointOf(history, recorded).answer, index);
    if (shown.size === 0) continue;
    checked += 1;
    if (index.holds(shown)) continue;
    const proof = {
      message: `${name(recorded)} showed ${words(shown)}, and no effect of ${reference} in the books has these values`,
      expected: `an effect with ${words(shown)}`,
      actual: index.excerpt([...shown.keys()]),
    };
    return { checked, violation: violation([recorded], proof) };
  }
  return { checked, violation: null };
}

/** The field that was changed may be the one by which the books name the effect. */
function mayBearAnotherReference({ attempt: { payload } }: Recorded): boolean {
  return payload.kind === "changed";
}

/** The values of an answer that can be compared, by column of the effects. */
function valuesShown(
  document: unknown,
  mapping: Readonly<Record<string, string>> | null,
  { columns, times }: EffectIndex,
): ReadonlyMap<string, string> {
  const shown = new Map<string, string>();
  for (const column of columns) {
    if (times.includes(column)) continue;
    const text = scalarText(mapping === null ? memberOf(document, column) : valueFor(document, mapping[column]));
    if (text !== null && !TIME.test(text)) shown.set(column, text);
  }
  return shown;
}

function valueFor(document: unknown, pointer: string | undefined): unknown {
  return pointer === undefined ? undefined : valueAt(document, pointer);
}

function memberOf(document: unknown, name: string): unknown {
  if (typeof document !== "object" || document === null || !Object.hasOwn(document, name)) return undefined;
  return (document as Readonly<Record<string, unknown>>)[name];
}

function scalarText(value: unknown): string | null {
  switch (typeof value) {
    case "string":
      return value;
    case "boolean":
      return String(value);
    case "number":
      return isKeptByJson(value) ? String(value) : null;
    default:
      return null;
  }
}

/** A double keeps 15 significant digits of any decimal, and all integers up to 2^53. */
function isKeptByJson(value: number): boolean {
  if (Number.isInteger(value)) return Number.isSafeInteger(value);
  return Number.isFinite(value) && Number(value.toPrecision(15)) === value;
}

const TIME = /^\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d/;

/** So many effects are compared faster one by one. */
const FEW_EFFECTS = 3;

/** Effects of one reference, looked up by their values, so that a hot key with many effects is judged in one pass. */
class EffectIndex {
  readonly columns: readonly string[];
  /** Columns that hold a time in some effect. */
  readonly times: readonly string[];
  readonly #effects: readonly Effect[];
  /** Null until it is looked at: of most references there are few effects. */
  #byColumns: Map<string, ReadonlySet<string>> | null = null;

  constructor(effects: readonly Effect[]) {
    this.#effects = effects;
    // All effects of one reading have the same columns.
    this.columns = Object.keys(effects[0]?.columns ?? {});
    this.times = this.columns.filter((column) => effects.some(({ columns }) => TIME.test(columns[column] ?? "")));
  }

  holds(shown: ReadonlyMap<string, string>): boolean {
    const columns = [...shown.keys()];
    if (this.#effects.length <= FEW_EFFECTS) {
      return this.#effects.some((effect) => columns.every((name) => same(shown.get(name), effect.columns[name])));
    }
    const id = JSON.stringify(columns);
    this.#byColumns ??= new Map();
    const known = this.#byColumns.get(id) ?? new Set(this.#effects.map((effect) => signature(effect.columns, columns)));
    this.#byColumns.set(id, known);
    return known.has(signature(Object.fromEntries(shown), columns));
  }

  excerpt(columns: readonly string[]): string {
    const listed = this.#effects.slice(0, 3).map((effect) => columns.map((name) => `${name} ${effect.columns[name]}`));
    const more = this.#effects.length > listed.length ? ` and ${this.#effects.length - listed.length} more` : "";
    return `${listed.map((values) => values.join(", ")).join("; ")}${more}`;
  }
}

function signature(values: Readonly<Record<string, string>>, columns: readonly string[]): string {
  return JSON.stringify(columns.map((column) => canonical(values[column] ?? "")));
}

function same(one = "", other = ""): boolean {
  return one === other || canonical(one) === canonical(other);
}

/** The same text for all ways to write a value: `10`, `10.0` and `1e1`; `USD` and `usd `. */
function canonical(text: string): string {
  const plain = text.trim().toLowerCase();
  const decimal = /^([+-]?)(\d+)(?:\.(\d*))?(?:e([+-]?\d{1,4}))?$/.exec(plain);
  if (decimal === null) return plain;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = decimal;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${sign === "-" ? "-" : ""}${significant}e${power}`;
}

function words(values: ReadonlyMap<string, string>): string {
  return [...values].map(([column, value]) => `${column} ${value}`).join(", ");
}

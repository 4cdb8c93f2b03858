/**
 * What the simulated server makes of a body: an order with defaults filled in and every value in one
 * spelling. Numbers keep their digits, since a float would make two large amounts one.
 */

/** The fields that decide the outcome of an order. */
export const ORDER_FIELDS = ["amount", "currency", "item", "reference"] as const;
export type OrderField = (typeof ORDER_FIELDS)[number];
export type Order = Readonly<Record<OrderField, string>>;

type Value = null | boolean | string | readonly Value[] | { readonly [name: string]: Value };

/** Begins the text of what was a number in the body; no JSON string of a plan begins with it. */
const NUMBER_MARK = "\u0001";

/** Null for a body that is not an order. */
export function orderOf(text: string): Order | null {
  const body = parse(text);
  if (typeof body !== "object" || body === null || Array.isArray(body)) return null;
  const { amount, currency = "usd", item = "unspecified", reference } = body as Readonly<Record<string, Value>>;
  const digits = wholeNumber(amount);
  if (digits === null || typeof currency !== "string" || !/^[A-Za-z]{3}$/.test(currency)) return null;
  if (typeof item !== "string" || typeof reference !== "string") return null;
  return { amount: digits, currency: currency.toLowerCase(), item, reference };
}

/** One text for all spellings of a body that is no order. */
export function canonicalBody(text: string): string {
  return JSON.stringify(sorted(parse(text) ?? text));
}

function parse(text: string): Value | undefined {
  try {
    return JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, markNumber)) as Value;
  } catch {
    return undefined;
  }
}

function markNumber(token: string): string {
  return token.startsWith('"') ? token : JSON.stringify(`${NUMBER_MARK}${token}`);
}

/** 1999, 1999.0 and 1.999e3 as "1999"; null for what is no positive whole number. */
function wholeNumber(value: Value | undefined): string | null {
  if (typeof value !== "string" || !value.startsWith(NUMBER_MARK)) return null;
  const found = /^(\d+)(?:\.(\d+))?(?:[eE]\+?(\d{1,2}))?$/.exec(value.slice(NUMBER_MARK.length));
  if (found === null) return null;
  const [, whole = "", fraction = "", exponent = "0"] = found;
  const places = Number(exponent);
  if (/[1-9]/.test(fraction.slice(places))) return null;
  const digits = `${whole}${fraction.slice(0, places).padEnd(places, "0")}`.replace(/^0+/, "");
  return digits === "" ? null : digits;
}

function sorted(value: Value): Value {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value as Readonly<Record<string, Value>>);
  return Object.fromEntries(
    members.sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, inner]) => [name, sorted(inner)]),
  );
}

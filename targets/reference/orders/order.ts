/** An order as the outcome depends on it: defaults filled in, amount and currency in one spelling. */

import { canonicalNumber } from "../idempotency/fingerprint.ts";
import { Problem } from "../idempotency/problem.ts";
import { type Json, JsonNumber, type JsonObject } from "../json.ts";

export interface Order extends JsonObject {
  /** Minor units, a whole number of any size, as decimal digits. */
  readonly amount: string;
  /** ISO 4217, lower case. */
  readonly currency: string;
  readonly item: string;
  /** The client's own name for the order. */
  readonly reference: string;
}

const DEFAULT_CURRENCY = "usd";
const DEFAULT_ITEM = "unspecified";
const TEXT_CHARACTERS_MAX = 200;
/** More digits than any currency's total. */
const AMOUNT_DIGITS_MAX = 30;

/** Throws a 400 `Problem` for anything that is not an order. */
export function orderOf(body: Json): Order {
  if (typeof body !== "object" || body === null || Array.isArray(body) || body instanceof JsonNumber) {
    throw invalid("an order is a JSON object");
  }
  const { amount, currency = DEFAULT_CURRENCY, item = DEFAULT_ITEM, reference } = body as JsonObject;
  if (typeof currency !== "string" || !/^[A-Za-z]{3}$/.test(currency)) throw invalid("currency is a three-letter code");
  return {
    amount: wholeNumber(amount),
    currency: currency.toLowerCase(),
    item: text("item", item),
    reference: text("reference", reference),
  };
}

function wholeNumber(value: Json | undefined): string {
  if (!(value instanceof JsonNumber)) throw invalid("amount is a number");
  const [, digits = "", power = ""] = /^(\d+)e(\d+)$/.exec(canonicalNumber(value.text)) ?? [];
  const isWhole = digits !== "" && digits.length + Number(power) <= AMOUNT_DIGITS_MAX;
  if (!isWhole) throw invalid("amount is a positive whole number of minor units");
  return digits + "0".repeat(Number(power));
}

function text(name: string, value: Json | undefined): string {
  if (typeof value !== "string" || value === "" || value.length > TEXT_CHARACTERS_MAX) {
    throw invalid(`${name} is a text of 1 to ${TEXT_CHARACTERS_MAX} characters`);
  }
  // The one character that PostgreSQL cannot store.
  if (value.includes("\0")) throw invalid(`${name} holds a zero byte`);
  return value;
}

function invalid(detail: string): Problem {
  return new Problem(400, "invalid-order", detail);
}

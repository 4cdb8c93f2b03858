/**
 * The fingerprint of a request: SHA-256 over canonical JSON (the ordering of RFC 8785) of the fields that
 * decide its outcome. Numbers are compared by value, not by spelling, and never through a float: 10, 10.0
 * and 1e1 are one amount, 9007199254740993 and 9007199254740992 are two.
 */
import { createHash } from "node:crypto";
import { type Json, JsonNumber } from "../json.ts";

export function fingerprintOf(fields: Json): string {
  return createHash("sha256").update(canonical(fields)).digest("hex");
}

export function canonical(value: Json): string {
  if (value instanceof JsonNumber) return canonicalNumber(value.text);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value as Record<string, Json>)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`);
  return `{${members.join(",")}}`;
}

/** Sign, digits without outer zeros, and the power of ten: the same text for every spelling of one value. */
export function canonicalNumber(text: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  if (digits === "") return "0";
  const significant = withoutTrailingZeros(digits);
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${power}`;
}

/** Not by /0+$/, which begins again at every zero: a body of zeros would stop the service for seconds. */
function withoutTrailingZeros(digits: string): string {
  let length = digits.length;
  while (digits.charAt(length - 1) === "0") length -= 1;
  return digits.slice(0, length);
}

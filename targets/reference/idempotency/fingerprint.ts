/**
 * The fingerprint of a request: SHA-256 over canonical JSON (the ordering of RFC 8785) of the fields that
 * decide its outcome. Numbers are compared by value, not by spelling, and never through a float: 10, 10.0
 * and 1e1 are one amount, 9007199254740993 and 9007199254740992 are two.
 */
import { createHash } from "node:crypto";
import { type Json, JsonNumber } from "../json.ts";

/** How fingerprints were ever made. One that is in use is never changed: a new one is added. */
export const FINGERPRINT_VERSIONS = [1, 2] as const;
export type FingerprintVersion = (typeof FINGERPRINT_VERSIONS)[number];

/**
 * The fingerprint says by which algorithm it was made, so that a retry can be compared by the same one, however
 * many deployments lie between the two. The first algorithm knew of no other, and says nothing.
 */
export function fingerprintOf(fields: Json, version: FingerprintVersion = 1): string {
  switch (version) {
    case 1:
      return createHash("sha256").update(canonical(fields)).digest("hex");
    case 2:
      return `2:${createHash("sha512-256").update(canonical(fields)).digest("hex")}`;
  }
}

/**
 * Throws for one that a later deployment made by an algorithm which this one does not know. Nobody can say then
 * whether the request is the same: it is neither answered nor carried out here.
 */
export function versionOf(fingerprint: string): FingerprintVersion {
  const [name, hash] = fingerprint.split(":");
  if (hash === undefined) return 1;
  const found = FINGERPRINT_VERSIONS.find((version) => String(version) === name);
  if (found === undefined)
    throw new Error(`The fingerprint was made by the algorithm ${name}, which is not known here`);
  return found;
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

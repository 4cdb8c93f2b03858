/**
 * Turns what a plan says of a payload into the bytes that are sent. Which spellings and which other values
 * there are follows from the target's file alone.
 */
import { parseJson, valueAt } from "./answers.ts";
import type { Contract } from "./contract.ts";
import type { Payload } from "./operation.ts";
import type { TargetOperation, Variation } from "./target.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** Names of the spellings of an operation's body that a canonical fingerprint takes for one request. */
export function spellingsOf(operation: TargetOperation, contract: Contract): readonly string[] {
  const own = operation.equal.map((_, index) => `equal-${index + 1}`);
  const body = plainBody(operation);
  if (body === null || contract.fingerprint !== "canonical") return own;
  return Object.keys(body).length > 1 ? ["reordered", "spaced", ...own] : ["spaced", ...own];
}

/** Pointers of the fields that must be fingerprinted, those that have another valid value. */
export function changeableFields(operation: TargetOperation): readonly string[] {
  const body = plainBody(operation);
  if (body === null) return [];
  return outcomePointers(operation).filter((field) => otherValue(operation, body, field) !== undefined);
}

export function outcomePointers({ outcome }: TargetOperation): readonly string[] {
  return Array.isArray(outcome) ? outcome : Object.keys(outcome);
}

/** The body's text, with the reference in its place. */
export function renderBody(operation: TargetOperation, payload: Payload, reference: string): string {
  return bodyText(operation, payload).replaceAll("${operation}", reference);
}

function bodyText(operation: TargetOperation, payload: Payload): string {
  const body = plainBody(operation);
  switch (payload.kind) {
    case "original":
      return plainText(operation);
    case "spelling": {
      if (payload.name === "reordered") return JSON.stringify(reversed(body));
      if (payload.name === "spaced") return `${JSON.stringify(body, null, 2)}\n`;
      return varied(operation, operation.equal[Number(payload.name.slice("equal-".length)) - 1]);
    }
    case "changed":
      return JSON.stringify(changed(operation, body, [payload.field]));
    case "other":
      return JSON.stringify(changed(operation, body, fieldsBesideReference(operation, body)));
    case "invalid":
      return varied(operation, operation.invalid);
    case "pair":
      return varied(operation, operation.different[payload.index]?.[payload.side === "first" ? 0 : 1]);
  }
}

/** An operation of its own has a reference of its own; changing that text too would hide its effect from the books. */
function fieldsBesideReference(operation: TargetOperation, body: JsonObject | null): readonly string[] {
  return changeableFields(operation).filter((field) => !String(valueAt(body, field)).includes("${operation}"));
}

function plainText({ request: { body } }: TargetOperation): string {
  if (body === undefined) return "";
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** The body as an object, or null when it is not a JSON object. */
function plainBody(operation: TargetOperation): JsonObject | null {
  const body = parseJson(plainText(operation));
  return typeof body === "object" && body !== null && !Array.isArray(body) ? (body as JsonObject) : null;
}

function varied(operation: TargetOperation, variation: Variation | undefined): string {
  if (variation === undefined) throw new Error("the plan asks for a variation that the target file does not have");
  if ("raw" in variation && typeof variation.raw === "string") return variation.raw;
  return JSON.stringify({ ...plainBody(operation), ...variation });
}

function changed(operation: TargetOperation, body: JsonObject | null, fields: readonly string[]): JsonObject {
  const copy = structuredClone(body ?? {}) as Record<string, unknown>;
  for (const field of fields) setAt(copy, field, otherValue(operation, body ?? {}, field));
  return copy;
}

/** Another value of a field: the one the file names, else one made from the plain value; undefined when neither. */
function otherValue({ outcome }: TargetOperation, body: JsonObject, field: string): unknown {
  if (!Array.isArray(outcome)) return (outcome as Record<string, unknown>)[field];
  const value = valueAt(body, field);
  switch (typeof value) {
    case "number":
      return value + 1;
    case "boolean":
      return !value;
    case "string":
      return otherText(field, value);
    default:
      return undefined;
  }
}

/** Texts are often checked against a list or a shape, so the change keeps to what the shape suggests. */
function otherText(field: string, value: string): string {
  if (/currency/i.test(field) && /^[a-z]{3}$/i.test(value)) {
    const other = value.toLowerCase() === "eur" ? "usd" : "eur";
    return value === value.toUpperCase() ? other.toUpperCase() : other;
  }
  if (/^-?\d+(\.\d+)?$/.test(value)) return value.replace(/\d(?=\D*$)/, (digit) => String((Number(digit) + 1) % 10));
  return `${value}-2`;
}

function setAt(document: Record<string, unknown>, pointer: string, value: unknown): void {
  const names = pointer
    .split("/")
    .slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = names.pop();
  let place: unknown = document;
  for (const name of names) place = (place as Record<string, unknown>)[name];
  if (last !== undefined && typeof place === "object" && place !== null) {
    (place as Record<string, unknown>)[last] = value;
  }
}

/** The same value with the names of every object in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, inner]) => [name, reversed(inner)]),
  );
}

/** The body with the key at `pointer`, for contracts that carry the key inside it. */
export function withKeyInBody(text: string, pointer: string, key: string): string {
  const body = parseJson(text);
  if (typeof body !== "object" || body === null) return text;
  const copy = body as Record<string, unknown>;
  setAt(copy, pointer, key);
  return JSON.stringify(copy);
}

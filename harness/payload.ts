/**
 * Turns what a plan says of a payload into the bytes that are sent. Which spellings and which other values
 * there are follows from the target's file alone. Bodies are changed as texts: read into values and written
 * again, 9007199254740993 or 1.0 would become another spelling, or even another number.
 */
import { applyEdits, type JSONPath, modify, type Node, parseTree } from "jsonc-parser";
import type { Contract } from "./contract.ts";
import { parseJson, valueAt } from "./evidence/answers.ts";
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

function outcomePointers({ outcome }: TargetOperation): readonly string[] {
  return Array.isArray(outcome) ? outcome : Object.keys(outcome);
}

/** The body's text, with the reference in its place. */
export function renderBody(operation: TargetOperation, payload: Payload, reference: string): string {
  return bodyText(operation, payload).replaceAll("${operation}", reference);
}

function bodyText(operation: TargetOperation, payload: Payload): string {
  const plain = plainText(operation);
  switch (payload.kind) {
    case "original":
      return plain;
    case "spelling": {
      if (payload.name === "reordered") return rewritten(plain, { isReversed: true, indent: "" });
      if (payload.name === "spaced") return `${rewritten(plain, { isReversed: false, indent: "  " })}\n`;
      return varied(operation, operation.equal[Number(payload.name.slice("equal-".length)) - 1]);
    }
    case "changed":
      return changed(operation, [payload.field]);
    case "other":
      return changed(operation, fieldsBesideReference(operation));
    case "invalid":
      return varied(operation, operation.invalid);
    case "pair":
      return varied(operation, operation.different[payload.index]?.[payload.side === "first" ? 0 : 1]);
  }
}

/** An operation of its own has a reference of its own; changing that text too would hide its effect from the books. */
function fieldsBesideReference(operation: TargetOperation): readonly string[] {
  const body = plainBody(operation);
  return changeableFields(operation).filter((field) => !String(valueAt(body, field)).includes("${operation}"));
}

/** Written once for each operation: under load it is asked for with every request. */
const plainTexts = new WeakMap<TargetOperation, string>();

/** The body as the target file has it. */
export function plainText(operation: TargetOperation): string {
  const { body } = operation.request;
  if (body === undefined) return "";
  if (typeof body === "string") return body;
  let text = plainTexts.get(operation);
  if (text === undefined) {
    text = JSON.stringify(body);
    plainTexts.set(operation, text);
  }
  return text;
}

/** The body as an object, or null when it is not a JSON object. */
function plainBody(operation: TargetOperation): JsonObject | null {
  const body = parseJson(plainText(operation));
  return typeof body === "object" && body !== null && !Array.isArray(body) ? (body as JsonObject) : null;
}

function varied(operation: TargetOperation, variation: Variation | undefined): string {
  if (variation === undefined) throw new Error("the plan asks for a variation that the target file does not have");
  return variedText(plainText(operation), variation);
}

/** The body that a variation of the target file means: its own text, or its fields laid over the plain one. */
export function variedText(plain: string, variation: JsonObject): string {
  if (typeof variation["raw"] === "string") return variation["raw"];
  const text = plain === "" ? "{}" : plain;
  return Object.entries(variation).reduce((body, [name, value]) => withValue(body, [name], value), text);
}

function changed(operation: TargetOperation, fields: readonly string[]): string {
  const body = plainBody(operation);
  return fields.reduce(
    (text, field) => withValue(text, pathOf(body, field), otherValue(operation, body ?? {}, field)),
    plainText(operation),
  );
}

/** Another value of a field: the one the file names, else one made from the plain value; undefined when neither. */
function otherValue({ outcome }: TargetOperation, body: JsonObject, field: string): unknown {
  if (!Array.isArray(outcome)) return (outcome as JsonObject)[field];
  return otherOf(field, valueAt(body, field));
}

/** Is there another value of a field that can be made without the file's help? */
export function canBeChanged(field: string, value: unknown): boolean {
  return otherOf(field, value) !== undefined;
}

function otherOf(field: string, value: unknown): unknown {
  switch (typeof value) {
    case "number":
      // Beyond 2^53 the next number is the same one.
      return value + 1 === value ? value / 2 : value + 1;
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
  const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value);
  if (isUuid) return value.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"));
  if (/^\d{4}-\d\d-\d\d/.test(value))
    return value.replace(/^\d{4}/, (year) => String(Number(year) + 4).padStart(4, "0"));
  if (/^-?\d+(\.\d+)?$/.test(value))
    return value.replace(/\d$/, (digit) => (digit === "9" ? "8" : String(Number(digit) + 1)));
  return value.includes("@") ? value.replace("@", "-2@") : `${value}-2`;
}

/** The text with another value at a path, all else left as it is written. */
function withValue(text: string, path: JSONPath, value: unknown): string {
  return applyEdits(text, modify(text, path, value, {}));
}

/** A JSON pointer (RFC 6901) as a path, with numbers where the document has lists. */
function pathOf(document: unknown, pointer: string): JSONPath {
  let place = document;
  return pointer
    .split("/")
    .slice(1)
    .map((token) => {
      const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
      const isList = Array.isArray(place);
      place = typeof place === "object" && place !== null ? (place as Record<string, unknown>)[name] : undefined;
      return isList ? Number(name) : name;
    });
}

interface Layout {
  /** The names of every object in the opposite order. */
  readonly isReversed: boolean;
  /** One step of indentation; empty: all on one line. */
  readonly indent: string;
}

/** The same JSON in another layout. Texts and numbers stay as they are written. */
function rewritten(text: string, layout: Layout): string {
  const root = parseTree(text);
  return root === undefined ? text : written(root, text, layout, "");
}

function written(node: Node, text: string, layout: Layout, before: string): string {
  const inner = before + layout.indent;
  const inside = (children: readonly string[], [open, close]: readonly [string, string]): string => {
    if (children.length === 0) return open + close;
    const line = layout.indent === "" ? "" : "\n";
    return `${open}${line}${children.map((child) => inner + child).join(`,${line}`)}${line}${before}${close}`;
  };
  const { type, children = [], offset, length } = node;
  if (type === "array")
    return inside(
      children.map((child) => written(child, text, layout, inner)),
      ["[", "]"],
    );
  if (type !== "object") return text.slice(offset, offset + length);
  const properties = children.map(({ children: [name, value] = [] }) =>
    name && value
      ? `${written(name, text, layout, inner)}:${layout.indent && " "}${written(value, text, layout, inner)}`
      : "",
  );
  return inside(layout.isReversed ? properties.reverse() : properties, ["{", "}"]);
}

/** The body with the key at `pointer`, for contracts that carry the key inside it. */
export function withKeyInBody(text: string, pointer: string, key: string): string {
  const body = parseJson(text);
  if (typeof body !== "object" || body === null) return text;
  return withValue(text, pathOf(body, pointer), key);
}

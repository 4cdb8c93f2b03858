/**
 * Strict JSON for bodies that decide over money. `JSON.parse` loses what a fingerprint needs: integers above
 * 2^53, the second of two equal names. Here numbers keep their text, duplicate names are refused, and depth
 * has a limit, since every recursive walk over the value would otherwise be a way to crash the service.
 * Text is Unicode or it is refused (RFC 7493, section 2.1): bytes that are no UTF-8 and half surrogate pairs
 * would be stored as another text than the one that was fingerprinted.
 */
import { visit } from "jsonc-parser";

/** Deeper than any order, far from the stack's end. */
const DEPTH_MAX = 32;

/** A number as it was written. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Json = null | boolean | string | JsonNumber | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

export class JsonError extends Error {
  /** Read by Fastify as the status of its answer. */
  readonly statusCode = 400;
}

type Container = Json[] | Record<string, Json>;

/** Throws a `JsonError`. Bytes are read as UTF-8 without a byte order mark. */
export function parseJson(source: string | Uint8Array): Json {
  const text = typeof source === "string" ? source : decoded(source);
  checkDepth(text);
  let root: Json | undefined;
  const open: { container: Container; name: string }[] = [];
  const add = (value: Json): void => {
    const parent = open.at(-1);
    if (parent === undefined) root = value;
    else if (Array.isArray(parent.container)) parent.container.push(value);
    else parent.container[parent.name] = value;
  };
  const begin = (container: Container): void => {
    add(container);
    open.push({ container, name: "" });
  };
  visit(
    text,
    {
      // Without a prototype, so that a field named __proto__ is a field.
      onObjectBegin: () => begin(Object.create(null) as Record<string, Json>),
      onObjectProperty: (name) => {
        const parent = open.at(-1);
        if (parent === undefined) return;
        checkUnicode(name);
        if (Object.hasOwn(parent.container, name)) throw new JsonError(`The name ${JSON.stringify(name)} occurs twice`);
        parent.name = name;
      },
      onObjectEnd: () => void open.pop(),
      onArrayBegin: () => begin([]),
      onArrayEnd: () => void open.pop(),
      onLiteralValue: (value: unknown, offset, length) => {
        if (typeof value === "string") checkUnicode(value);
        add(typeof value === "number" ? new JsonNumber(text.slice(offset, offset + length)) : (value as Json));
      },
      onError: () => {
        throw new JsonError("The body is not valid JSON");
      },
    },
    { disallowComments: true },
  );
  if (root === undefined) throw new JsonError("The body is not valid JSON");
  return root;
}

function decoded(bytes: Uint8Array): string {
  try {
    // Kept, a byte order mark is what it is in JSON text: an error.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new JsonError("The body is not valid UTF-8");
  }
}

function checkUnicode(text: string): void {
  if (/\p{Surrogate}/u.test(text)) throw new JsonError("The body holds half of a surrogate pair");
}

function checkDepth(text: string): void {
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charAt(index)) {
      case '"':
        index = endOfString(text, index);
        break;
      case "{":
      case "[":
        depth += 1;
        if (depth > DEPTH_MAX) throw new JsonError(`The body is nested deeper than ${DEPTH_MAX} levels`);
        break;
      case "}":
      case "]":
        depth -= 1;
    }
  }
}

function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text.charAt(index) !== '"') index += text.charAt(index) === "\\" ? 2 : 1;
  return index;
}

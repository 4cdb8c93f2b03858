/**
 * Two answers held against each other. That bytes differ breaks a promise of verbatim replays and nothing else: that
 * two answers come from two executions, or from two records, only shows in what they say. A store that keeps JSON as a
 * value gives it back in another spelling.
 */
import type { Contract } from "../contract.ts";
import { type Body, type Responded, sameBody } from "../operation.ts";
import { EXCERPT_CHARACTERS, parseJson, valueAt } from "./answers.ts";

export interface Difference {
  /** Continues "another …": `status`, `body at /amount`, `header location`. */
  readonly what: string;
  readonly expected: string;
  readonly actual: string;
}

/** The first difference of two answers in status, body or the headers named, as words; null when equal. */
export function difference(
  first: Responded,
  later: Responded,
  contract: Contract,
  headers: readonly string[],
): Difference | null {
  // Of two attempts in flight together the replay's answer may be received first, so either one may be the replay.
  const { statuses } = contract.replay;
  if (first.status !== later.status && !statuses.includes(later.status) && !statuses.includes(first.status)) {
    return { what: "status", expected: String(first.status), actual: String(later.status) };
  }
  if (contract.replay.body === "verbatim" && !sameBody(first.body, later.body)) {
    return bodyDifference(first.body, later.body);
  }
  for (const name of headers) {
    const expected = first.headers[name.toLowerCase()];
    const actual = later.headers[name.toLowerCase()];
    if (expected !== undefined && expected !== actual) {
      return { what: `header ${name}`, expected, actual: actual ?? "no such header" };
    }
  }
  return null;
}

/** The same where it shows that the answers are two, and not one in two spellings. */
export function otherAnswer(first: Responded, later: Responded, contract: Contract): Difference | null {
  const found = difference(first, later, contract, []);
  return found === null || found.what === "status" || sayOther(first.body, later.body) ? found : null;
}

/** Certainly another JSON value or, where they are no JSON, another text. */
export function sayOther(one: Body, other: Body): boolean {
  // Of long bodies only the beginning was recorded, and what differs in it may be the spelling.
  const isWhole = one.digest === undefined && other.digest === undefined;
  return !sameBody(one, other) && isWhole && plainText(one.text) !== plainText(other.text);
}

/** Certainly one JSON value or, where they are no JSON, one text. */
export function saySame(one: Body, other: Body): boolean {
  const isWhole = one.digest === undefined && other.digest === undefined;
  return sameBody(one, other) || (isWhole && plainText(one.text) === plainText(other.text));
}

/** Equal for two spellings of one JSON value; a text that is no JSON stands for itself. */
export function plainText(text: string): string {
  return plainest(parseJson(text)) ?? text;
}

/** JSON in the one spelling; undefined of what is none, or nested too deep to be written. */
function plainest(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_, inner: unknown) => (isMap(inner) ? sorted(inner) : inner));
  } catch {
    return undefined;
  }
}

function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Where two bodies with different bytes differ first, and what stands there in each. */
export function bodyDifference({ text: one }: Body, { text: other }: Body): Difference {
  const shown = aroundDifference(one, other);
  const [first, second] = [parseJson(one), parseJson(other)];
  if (one === other) return { what: `body after the ${bytesOf(one)} bytes that were recorded`, ...shown };
  if (first === undefined || second === undefined) {
    return { what: `body from byte ${bytesOf(one.slice(0, commonCharacters(one, other)))} on`, ...shown };
  }
  const pointer = firstPointer(first, second);
  if (pointer === null) return { what: "body: the same JSON in other bytes", ...shown };
  const what = pointer === "" ? "body" : `body at ${pointer}`;
  if (Math.max(one.length, other.length) <= EXCERPT_CHARACTERS) return { what, ...shown };
  return { what, ...aroundDifference(textAt(first, pointer), textAt(second, pointer)) };
}

/** The first place at which two values differ, as a JSON pointer; null where they do not. */
function firstPointer(one: unknown, other: unknown): string | null {
  if (plainest(one) === plainest(other)) return null;
  if (!(isMap(one) && isMap(other)) && !(Array.isArray(one) && Array.isArray(other))) return "";
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  for (const name of names) {
    const pointer = `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const [here, there] = [valueAt(one, pointer), valueAt(other, pointer)];
    if (here === undefined || there === undefined) return pointer;
    const below = firstPointer(here, there);
    if (below !== null) return pointer + below;
  }
  return "";
}

function textAt(document: unknown, pointer: string): string {
  return JSON.stringify(valueAt(document, pointer)) ?? "nothing";
}

/** How much of both is shown before they part. */
const SHOWN_BEFORE = 40;

/** Both texts, or of long ones the part in which they begin to differ. */
function aroundDifference(one: string, other: string): { readonly expected: string; readonly actual: string } {
  const from = Math.max(0, commonCharacters(one, other) - SHOWN_BEFORE);
  const isShort = Math.max(one.length, other.length) <= EXCERPT_CHARACTERS;
  return { expected: excerptFrom(one, isShort ? 0 : from), actual: excerptFrom(other, isShort ? 0 : from) };
}

function excerptFrom(text: string, from: number): string {
  const until = from + EXCERPT_CHARACTERS;
  return `${from > 0 ? "…" : ""}${text.slice(from, until)}${until < text.length ? "…" : ""}`;
}

function commonCharacters(one: string, other: string): number {
  let count = 0;
  while (count < one.length && count < other.length && one[count] === other[count]) count += 1;
  return count;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

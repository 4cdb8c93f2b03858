import { expect, test } from "vitest";
import { canonical } from "./idempotency/fingerprint.ts";
import { JsonError, JsonNumber, parseJson } from "./json.ts";

const refused = (text: string): boolean => {
  try {
    parseJson(text);
    return false;
  } catch (error) {
    if (error instanceof JsonError) return error.statusCode === 400;
    throw error;
  }
};

test.each([
  ["with different values", '{"amount":1,"amount":2}'],
  ["with equal values", '{"amount":1,"amount":1}'],
  ["spelled by an escape", '{"amount":1,"\\u0061mount":1}'],
  ["called __proto__", '{"__proto__":1,"__proto__":1}'],
  ["below the top", '[{"order":{"amount":1,"item":"a","amount":1}}]'],
  ["whose first value is an object", '{"amount":{"of":1},"amount":1}'],
])("a name that occurs twice is refused: %s", (_, text) => {
  expect(() => parseJson(text)).toThrow(/occurs twice/);
});

test("the same name in two objects is no duplicate", () => {
  expect(canonical(parseJson('[{"a":1},{"a":{"a":2}}]'))).toBe('[{"a":1e0},{"a":{"a":2e0}}]');
});

test("a field named like something every object inherits is a field like any other", () => {
  const parsed = parseJson('{"__proto__":{"amount":1},"constructor":2,"toString":3}');
  expect(Object.keys(parsed as object)).toEqual(["__proto__", "constructor", "toString"]);
  expect((parsed as { amount?: unknown }).amount).toBeUndefined();
  expect(canonical(parsed)).not.toBe(canonical(parseJson('{"constructor":2,"toString":3}')));
});

const nested = (depth: number, open = "[", close = "]"): string => open.repeat(depth) + close.repeat(depth);

test("32 levels are taken, 33 are refused, and 20,000 do not reach the end of the stack", () => {
  expect(refused(nested(32))).toBe(false);
  expect(() => parseJson(nested(33))).toThrow(/deeper than 32/);
  expect(() => parseJson(nested(20_000))).toThrow(/deeper than 32/);
  expect(() => parseJson(`${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`)).toThrow(/deeper than 32/);
  expect(refused("]".repeat(20_000) + "[".repeat(20_000))).toBe(true);
});

test("brackets inside of texts are no levels", () => {
  expect(refused(JSON.stringify(`${"[".repeat(100)}\\"[{`))).toBe(false);
});

test.each(["9007199254740993", "1e400", "-0", "10.0", "123456789012345678901234567890"])(
  "%s keeps its digits",
  (text) => {
    expect(parseJson(text)).toEqual(new JsonNumber(text));
  },
);

test.each([
  ["nothing", ""],
  ["white space only", " \r\n\t"],
  ["a comment", '/* one */ {"a":1}'],
  ["a comment to the end", '{"a":1} // one'],
  ["a comma too many in an object", '{"a":1,}'],
  ["a comma too many in an array", "[1,]"],
  ["a byte order mark", '\uFEFF{"a":1}'],
  ["a second value", "{} {}"],
  ["a bracket too many", "[1]]"],
  ["a missing bracket", '{"a":[1}'],
  ["a text without end", '"abc'],
  ["a line break in a text", '"a\nb"'],
  ["an unknown escape", '"\\x41"'],
  ["single quotes", "{'a':1}"],
  ["a name without quotes", "{a:1}"],
  ["white space that JSON does not know", "\u00a01"],
  ["a zero before the digits", "01"],
  ["a plus before the digits", "+1"],
  ["no digit before the point", ".5"],
  ["no digit after the point", "1."],
  ["not a number", "NaN"],
])("what is no JSON is refused: %s", (_, text) => {
  expect(refused(text)).toBe(true);
});

test.each([
  ["in a text, as an escape", '"\\ud800"'],
  ["in a text, as it is", '"\ud800x"'],
  ["in a name", '{"\\udc00":1}'],
  ["in the wrong order", '"\\udc00\\ud800"'],
])("half a surrogate pair, which no database can store, is refused: %s", (_, text) => {
  expect(refused(text)).toBe(true);
});

test("a whole surrogate pair is one character, however it is spelled", () => {
  expect(parseJson('"\\ud83d\\ude00"')).toBe("\u{1F600}");
  expect(parseJson('"\u{1F600}"')).toBe("\u{1F600}");
});

test("bytes are read as UTF-8 and as nothing else", () => {
  expect(parseJson(Buffer.from('"\u00e9"'))).toBe("\u00e9");
  const bytes = (...inside: number[]) => Buffer.from([0x22, ...inside, 0x22]);
  // Read leniently, both would be the same replacement character, and so the same request.
  for (const broken of [bytes(0xff), bytes(0xfe), bytes(0xed, 0xa0, 0x80), Buffer.from('\uFEFF"a"')]) {
    expect(() => parseJson(broken)).toThrow(JsonError);
  }
});

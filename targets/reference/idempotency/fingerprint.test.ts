import fc from "fast-check";
import { expect, test } from "vitest";
import { parseJson } from "../json.ts";
import { canonicalNumber, FINGERPRINT_VERSIONS, fingerprintOf, versionOf } from "./fingerprint.ts";

const print = (text: string): string => fingerprintOf(parseJson(text));

test.each([
  ["10", "10.0", "1e1", "1E+1", "1000e-2", "0.1e2", "10.00e0"],
  ["0", "-0", "0.0", "0e5", "-0.00", "0e-99999999999999999999"],
  ["-1.5", "-15e-1", "-0.15e1"],
  ["1e400", "10e399", "0.1e401"],
])("%s is one number, however it is spelled", (first, ...others) => {
  for (const other of others) expect(print(`{"amount":${other}}`), other).toBe(print(`{"amount":${first}}`));
});

test.each([
  ["neighbours that a float cannot tell apart", "9007199254740993", "9007199254740992"],
  ["fractions that a float cannot tell apart", "0.1", "0.10000000000000000001"],
  ["two that a float takes for infinity", "1e400", "1e401"],
  ["two that a float takes for zero", "1e-400", "1e-401"],
  ["plus and minus", "1", "-1"],
  ["a number and its text", "1", '"1"'],
  ["zero and nothing", "0", "null"],
  ["false and nothing", "false", "null"],
  ["an empty text and nothing", '""', "null"],
  ["an empty object and an empty array", "{}", "[]"],
  ["an array and its only element", "[1]", "1"],
  ["another order of an array", "[1,2]", "[2,1]"],
  ["a text that looks like an array", '["a","b"]', '["a\\",\\"b"]'],
  ["a field with nothing and no field", '{"a":null}', "{}"],
  ["a field's end moved to the next one's beginning", '{"a":"xy","b":"z"}', '{"a":"x","b":"yz"}'],
  ["a name's end moved to its value", '{"ab":"c"}', '{"a":"bc"}'],
  ["one field that looks like two", '{"a":"1\\",\\"b\\":\\"2"}', '{"a":"1","b":"2"}'],
  ["upper and lower case", '"A"', '"a"'],
  ["a composed and a decomposed letter", '"\\u00e9"', '"e\\u0301"'],
])("what differs has another fingerprint: %s", (_, one, other) => {
  expect(print(one)).not.toBe(print(other));
});

test("the order of fields, white space and escapes make no difference", () => {
  expect(print('{"b":{"d":1,"c":2},"a":3}')).toBe(print(' {\n "a" : 3 , "b" : { "c":2, "d":1 } } '));
  expect(print('"\\u0041"')).toBe(print('"A"'));
  expect(print('{"\\u0061":"\\/"}')).toBe(print('{"a":"/"}'));
});

test("names are ordered as RFC 8785 says, by UTF-16 code units, whatever the language", () => {
  expect(print('{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"\\u00f6":7}')).toBe(
    print('{"\\r":2,"1":4,"\\u0080":6,"\\u00f6":7,"\\u20ac":1,"\\ud83d\\ude00":5,"\\ufb33":3}'),
  );
});

/** Fingerprints are stored for as long as retention lasts: a new version must not make every retry a mismatch. */
test.each([
  [1, "c4db07414b989d964d51ace305493cf40cb8d45a7220ff615914ac9828b42cea"],
  [2, "2:a8f6633b4dbe4d2aa6537681d1c02f442ff234920eb3c73698fdc38868fd0940"],
] as const)("the fingerprint of a request by algorithm %d is the same for ever", (version, expected) => {
  const request = parseJson('{"amount":1999,"item":"book","tags":[true,null]}');
  expect(fingerprintOf(request, version)).toBe(expected);
});

test("a fingerprint says by which algorithm it was made", () => {
  for (const version of FINGERPRINT_VERSIONS) expect(versionOf(fingerprintOf(null, version))).toBe(version);
});

test("a fingerprint of an algorithm that is not known here is never taken for one that is", () => {
  expect(() => versionOf("3:c4db07414b989d96")).toThrow("made by the algorithm 3, which is not known here");
});

test("two numbers have one canonical text exactly when they are equal", () => {
  const number = fc.record({
    sign: fc.constantFrom("", "-"),
    digits: fc.bigInt(0n, 9999n),
    power: fc.integer({ min: -4, max: 4 }),
  });
  const value = ({ sign, digits, power }: { sign: string; digits: bigint; power: number }): bigint =>
    (sign === "-" ? -1n : 1n) * digits * 10n ** BigInt(power + 4);
  fc.assert(
    fc.property(number, number, (one, other) => {
      const text = ({ sign, digits, power }: typeof one): string => canonicalNumber(`${sign}${digits}e${power}`);
      expect(text(one) === text(other)).toBe(value(one) === value(other));
    }),
  );
});

test("a number as long as the largest body takes no longer than its length", () => {
  const digits = 60_000;
  const started = performance.now();
  canonicalNumber(`1${"0".repeat(digits)}1`);
  canonicalNumber(`0.${"0".repeat(digits)}1`);
  canonicalNumber(`1e${"9".repeat(digits)}`);
  // Trying every zero as the beginning of the end took four seconds.
  expect(performance.now() - started).toBeLessThan(1_000);
});

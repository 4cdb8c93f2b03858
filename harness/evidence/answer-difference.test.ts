import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { strict } from "../contracts/strict.ts";
import type { Body, Responded } from "../operation.ts";
import { difference, otherAnswer, sayOther, saySame } from "./answer-difference.ts";

const body = (text: string): Body => ({ text, bytes: Buffer.byteLength(text) });
const answered = (text: string): Responded => ({ kind: "responded", status: 201, headers: {}, body: body(text) });
const between = (one: string, other: string) => difference(answered(one), answered(other), strict, []);
/** Longer than what is shown of a body. */
const long = "x".repeat(500);

describe("of two bodies it names the first place in which they differ, and shows it", () => {
  test.each<[string, string, string, string, string, string]>([
    ["a field", '{"id":1,"at":2}', '{"id":1,"at":3}', "body at /at", '{"id":1,"at":2}', '{"id":1,"at":3}'],
    ["a deep field", '{"a":[{"b":1}]}', '{"a":[{"b":2}]}', "body at /a/0/b", '{"a":[{"b":1}]}', '{"a":[{"b":2}]}'],
    ["a name with signs", '{"a/b~":1}', '{"a/b~":2}', "body at /a~1b~0", '{"a/b~":1}', '{"a/b~":2}'],
    [
      "a field late in a long body",
      `{"note":"${long}","id":"a"}`,
      `{"note":"${long}","id":"b"}`,
      "body at /id",
      '"a"',
      '"b"',
    ],
    ["a field of one alone", `{"note":"${long}","id":"a"}`, `{"note":"${long}"}`, "body at /id", '"a"', "nothing"],
    [
      "a field behind others in another order",
      `{"note":"${long}","id":1}`,
      `{"id":2,"note":"${long}"}`,
      "body at /id",
      "1",
      "2",
    ],
    [
      "the end of a long text",
      `{"note":"${long}1"}`,
      `{"note":"${long}2"}`,
      "body at /note",
      `…${"x".repeat(40)}1"`,
      `…${"x".repeat(40)}2"`,
    ],
    [
      "nothing but the spelling",
      '{"id":1,"at":2}',
      '{"at": 2, "id": 1}',
      "body: the same JSON in other bytes",
      '{"id":1,"at":2}',
      '{"at": 2, "id": 1}',
    ],
    ["a number for a text", "1", '"1"', "body", "1", '"1"'],
    ["text that is no JSON", "order é1", "order é2", "body from byte 8 on", "order é1", "order é2"],
    ["no body", '{"id":1}', "", "body from byte 0 on", '{"id":1}', ""],
  ])("%s", (_, one, other, what, expected, actual) => {
    expect(between(one, other)).toEqual({ what, expected, actual });
  });

  test("what was not recorded of a long one", () => {
    const cut = (digest: string): Responded => ({ ...answered("abc"), body: { text: "abc", bytes: 90_000, digest } });
    expect(difference(cut("1"), cut("2"), strict, [])?.what).toBe("body after the 3 bytes that were recorded");
    expect(otherAnswer(cut("1"), cut("2"), strict)).toBeNull();
  });

  test("a body nested too deep to be written again", () => {
    const deep = (leaf: number): string => `${"[".repeat(8_000)}${leaf}${"]".repeat(8_000)}`;
    expect(between(deep(1), deep(2))?.what).toMatch(/^body/);
  });
});

test("an answer in another spelling is no other answer, and one with another status or value is", () => {
  expect(otherAnswer(answered('{"id":1}'), answered('{ "id": 1.0 }'), strict)).toBeNull();
  expect(otherAnswer(answered('{"id":1}'), answered('{ "id": 2 }'), strict)).toMatchObject({ what: "body at /id" });
  expect(otherAnswer(answered("1"), { ...answered("1"), status: 200 }, strict)).toMatchObject({ what: "status" });
});

test("spellings of one value say the same, and values that differ do not", () => {
  const spelled = fc.jsonValue().chain((value) => fc.constantFrom(0, 1, 4).map((indent) => ({ value, indent })));
  fc.assert(
    fc.property(spelled, spelled, ({ value, indent }, other) => {
      const [one, again] = [body(JSON.stringify(value)), body(JSON.stringify(value, null, indent))];
      expect([saySame(one, again), sayOther(one, again)]).toEqual([true, false]);
      const isSame = JSON.stringify(value) === JSON.stringify(other.value);
      const [here, there] = [body(JSON.stringify(value)), body(JSON.stringify(other.value, null, other.indent))];
      if (isSame) expect(sayOther(here, there)).toBe(false);
      expect(saySame(here, there)).toBe(!sayOther(here, there));
    }),
  );
});

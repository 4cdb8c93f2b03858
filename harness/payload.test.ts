import { expect, test } from "vitest";
import { strict } from "./contracts/strict.ts";
import { parseJson } from "./evidence/answers.ts";
import type { Payload } from "./operation.ts";
import { canBeChanged, changeableFields, renderBody, spellingsOf, withKeyInBody } from "./payload.ts";
import { type TargetOperation, targetSchema } from "./target.ts";

function operationWith(parts: Readonly<Record<string, unknown>>, body: unknown = { amount: 1999, currency: "usd" }) {
  const operation = { request: { method: "POST", path: "/orders", body }, success: [201], ...parts };
  const file = targetSchema.parse({ name: "orders", urls: ["http://localhost"], operations: { create: operation } });
  return file.operations["create"] as TargetOperation;
}

function sent(operation: TargetOperation, payload: Payload): string {
  return renderBody(operation, payload, "ref-1");
}

/** Amounts beyond 2^53, numbers spelt with a fraction, escapes: what a parser and a writer do not hand on. */
const DELICATE =
  '{"amount":9007199254740993,"rate":1.0,"item":"b\\u006fok","lines":[{"n":1e2}],"reference":"${operation}"}';

test("the reference takes the place of ${operation}, wherever it stands", () => {
  const operation = operationWith({}, { reference: "${operation}", note: "for ${operation}", lines: ["${operation}"] });
  expect(sent(operation, { kind: "original" })).toBe('{"reference":"ref-1","note":"for ref-1","lines":["ref-1"]}');
});

test("a body given as text is sent as it is written", () => {
  expect(sent(operationWith({}, DELICATE), { kind: "original" })).toBe(DELICATE.replace("${operation}", "ref-1"));
});

test("an operation without a body sends none", () => {
  expect(
    sent(operationWith({ request: { method: "DELETE", path: "/orders/${operation}" } }), { kind: "original" }),
  ).toBe("");
});

test("reordered: every object's names in the opposite order, lists as they were", () => {
  const operation = operationWith({}, { a: 1, b: { c: 2, d: [{ e: 3, f: 4 }, 5] } });
  expect(sent(operation, { kind: "spelling", name: "reordered" })).toBe('{"b":{"d":[{"f":4,"e":3},5],"c":2},"a":1}');
});

test("spaced: the same names and values with white space between them", () => {
  const operation = operationWith({}, { a: 1, b: { c: [] }, d: ["x", {}] });
  const body = sent(operation, { kind: "spelling", name: "spaced" });
  expect(body).toBe('{\n  "a": 1,\n  "b": {\n    "c": []\n  },\n  "d": [\n    "x",\n    {}\n  ]\n}\n');
});

test.each(["reordered", "spaced"])("%s: numbers and texts keep their spelling", (name) => {
  const body = sent(operationWith({}, DELICATE), { kind: "spelling", name });
  for (const piece of ["9007199254740993", "1.0", '"b\\u006fok"', "1e2"]) expect(body).toContain(piece);
});

test("a target's own spellings are fields laid over the body, or a text of their own", () => {
  const operation = operationWith({ equal: [{ currency: "USD", note: null }, { raw: '{"amount":1.999e3}' }] });
  expect(sent(operation, { kind: "spelling", name: "equal-1" })).toBe('{"amount":1999,"currency":"USD","note": null}');
  expect(sent(operation, { kind: "spelling", name: "equal-2" })).toBe('{"amount":1.999e3}');
});

test("a field named raw that is no text is a field", () => {
  expect(sent(operationWith({ invalid: { raw: 5 } }), { kind: "invalid" })).toBe(
    '{"amount":1999,"currency":"usd","raw": 5}',
  );
});

test("changed: one field has another value, all else is as it is written", () => {
  const operation = operationWith({ outcome: { "/rate": 2 } }, DELICATE);
  expect(sent(operation, { kind: "changed", field: "/rate" })).toBe(
    DELICATE.replace("1.0", "2").replace("${operation}", "ref-1"),
  );
});

test("changed: pointers reach into objects and lists, and undo ~0 and ~1", () => {
  const body = { lines: [{ price: 5 }, { price: 6 }], "a/b": { "m~n": 1 }, "": true };
  const operation = operationWith({ outcome: ["/lines/1/price", "/a~1b/m~0n", "/"] }, body);
  const change = (field: string): unknown => parseJson(sent(operation, { kind: "changed", field }));
  expect(change("/lines/1/price")).toEqual({ ...body, lines: [{ price: 5 }, { price: 7 }] });
  expect(change("/a~1b/m~0n")).toEqual({ ...body, "a/b": { "m~n": 2 } });
  expect(change("/")).toEqual({ ...body, "": false });
});

test("other: every field is changed but the one that names the operation", () => {
  const operation = operationWith(
    { outcome: ["/amount", "/currency", "/reference"] },
    { amount: 1, currency: "usd", item: "book", reference: "${operation}" },
  );
  expect(sent(operation, { kind: "other" })).toBe('{"amount":2,"currency":"eur","item":"book","reference":"ref-1"}');
});

test("invalid and pairs are the target's own", () => {
  const operation = operationWith({
    invalid: { raw: "{" },
    different: [[{ raw: '{"amount":9007199254740993}' }, { raw: '{"amount":9007199254740992}' }]],
  });
  expect(sent(operation, { kind: "invalid" })).toBe("{");
  expect(sent(operation, { kind: "pair", index: 0, side: "first" })).toBe('{"amount":9007199254740993}');
  expect(sent(operation, { kind: "pair", index: 0, side: "second" })).toBe('{"amount":9007199254740992}');
});

test("a plan that asks for what the file does not have is a fault of the plan", () => {
  const operation = operationWith({});
  expect(() => sent(operation, { kind: "invalid" })).toThrow("does not have");
  expect(() => sent(operation, { kind: "spelling", name: "equal-1" })).toThrow("does not have");
  expect(() => sent(operation, { kind: "pair", index: 0, side: "first" })).toThrow("does not have");
});

test.each<[string, unknown, unknown]>([
  ["/amount", 1999, 2000],
  ["/amount", 9007199254740992, 4503599627370496],
  ["/amount", -0.5, 0.5],
  ["/paid", true, false],
  ["/currency", "usd", "eur"],
  ["/currency", "EUR", "USD"],
  ["/charge/currencyCode", "EUR", "USD"],
  ["/amount", "19.99", "19.98"],
  ["/amount", "-3", "-4"],
  ["/customer", "2f1e4fc0-81fd-4d1f-8d4c-0ce0a2a1b7e0", "2f1e4fc0-81fd-4d1f-8d4c-0ce0a2a1b7e1"],
  ["/due", "2026-12-31", "2030-12-31"],
  ["/due", "2024-02-29T10:00:00Z", "2028-02-29T10:00:00Z"],
  ["/email", "a@example.com", "a-2@example.com"],
  ["/item", "book", "book-2"],
  ["/reference", "${operation}", "ref-1-2"],
])("another value of %s: %j becomes %j", (field, value, other) => {
  const names = field.split("/").slice(1);
  const body = names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  const operation = operationWith({ outcome: [field] }, body);
  expect(changeableFields(operation)).toEqual([field]);
  const changed = names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), other);
  expect(parseJson(sent(operation, { kind: "changed", field }))).toEqual(changed);
});

test("another value is never the same value", () => {
  for (const value of [0, -1, 2 ** 53, -(2 ** 60), 1e300, 0.1, "", "9", "0", "-", "@", "USD", "eur", true]) {
    const operation = operationWith({ outcome: ["/currency"] }, { currency: value });
    const original = sent(operation, { kind: "original" });
    expect(sent(operation, { kind: "changed", field: "/currency" }), String(value)).not.toBe(original);
  }
});

test("values of which no other is known can be changed only with the file's help", () => {
  for (const value of [null, [], {}, [1]]) expect(canBeChanged("/x", value)).toBe(false);
  expect(changeableFields(operationWith({ outcome: { "/tags": ["b"] } }, { tags: ["a"] }))).toEqual(["/tags"]);
});

test("spellings that only a canonical fingerprint takes for one request are offered only then", () => {
  const operation = operationWith({ equal: [{ currency: "USD" }] });
  expect(spellingsOf(operation, strict)).toEqual(["reordered", "spaced", "equal-1"]);
  expect(spellingsOf(operation, { ...strict, fingerprint: "raw" })).toEqual(["equal-1"]);
  expect(spellingsOf(operationWith({}, { one: 1 }), strict)).toEqual(["spaced"]);
  expect(spellingsOf(operationWith({}, "id=${operation}"), strict)).toEqual([]);
});

test("a key in the body is put at its pointer, with what is missing on the way", () => {
  expect(withKeyInBody('{"amount":9007199254740993}', "/key", 'k"1')).toBe(
    '{"amount":9007199254740993,"key": "k\\"1"}',
  );
  expect(parseJson(withKeyInBody('{"amount":1}', "/meta/idempotency/key", "k"))).toEqual({
    amount: 1,
    meta: { idempotency: { key: "k" } },
  });
  expect(withKeyInBody('{"key":"old","a":1.0}', "/key", "new")).toBe('{"key":"new","a":1.0}');
});

test("no pointer reaches what all objects inherit", () => {
  withKeyInBody("{}", "/__proto__/polluted", "yes");
  const operation = operationWith({ outcome: { "/__proto__/polluted": 1 } }, { amount: 1 });
  sent(operation, { kind: "changed", field: "/__proto__/polluted" });
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});

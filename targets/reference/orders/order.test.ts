import { expect, test } from "vitest";
import { Problem } from "../idempotency/problem.ts";
import { parseJson } from "../json.ts";
import { orderOf } from "./order.ts";

const plain = { amount: 1999, currency: "usd", item: "book", reference: "r" };

const orderFrom = (fields: object): object => ({ ...orderOf(parseJson(JSON.stringify(fields))) });

test("currency and item have defaults", () => {
  expect(orderFrom({ amount: 1, reference: "r" })).toEqual({
    amount: "1",
    currency: "usd",
    item: "unspecified",
    reference: "r",
  });
});

test("a default that is spelled out is the same order", () => {
  expect(orderFrom({ amount: 1, reference: "r", currency: "usd", item: "unspecified" })).toEqual(
    orderFrom({ amount: 1, reference: "r" }),
  );
});

test.each(["USD", "Usd", "usd"])("currency %s is usd", (currency) => {
  expect(orderFrom({ ...plain, currency })).toMatchObject({ currency: "usd" });
});

test.each([
  ["1999.0", "1999"],
  ["1.999e3", "1999"],
  ["199900e-2", "1999"],
  ["9007199254740993", "9007199254740993"],
  ["999999999999999999999999999999", "9".repeat(30)],
  ["1e29", `1${"0".repeat(29)}`],
])("amount %s is %s, without a float in between", (text, amount) => {
  expect(orderOf(parseJson(`{"amount":${text},"reference":"r"}`)).amount).toBe(amount);
});

test("fields that an order does not have decide nothing", () => {
  expect(orderFrom({ ...plain, note: "please" })).toEqual(orderFrom(plain));
});

test("texts are kept as they are", () => {
  const item = ` Caf\u00e9 \u{1F600}\t`;
  expect(orderFrom({ ...plain, item })).toMatchObject({ item });
});

const without = (name: keyof typeof plain): object => ({ ...plain, [name]: undefined });

test.each([
  ["no object", "5"],
  ["nothing", "null"],
  ["an array", `[${JSON.stringify(plain)}]`],
  ["a text", '"order"'],
  ["no amount", JSON.stringify(without("amount"))],
  ["no reference", JSON.stringify(without("reference"))],
  ["an amount of zero", JSON.stringify({ ...plain, amount: 0 })],
  ["a negative amount", JSON.stringify({ ...plain, amount: -1 })],
  ["half a minor unit", JSON.stringify({ ...plain, amount: 1.5 })],
  ["an amount as text", JSON.stringify({ ...plain, amount: "1999" })],
  ["an amount of nothing", JSON.stringify({ ...plain, amount: null })],
  ["an amount of 31 digits", '{"amount":1e30,"reference":"r"}'],
  ["an amount beyond any float", '{"amount":1e400,"reference":"r"}'],
  ["an amount with a power beyond any memory", `{"amount":1e${"9".repeat(50)},"reference":"r"}`],
  ["a currency of two letters", JSON.stringify({ ...plain, currency: "us" })],
  ["a currency with a digit", JSON.stringify({ ...plain, currency: "us1" })],
  ["a currency of nothing", JSON.stringify({ ...plain, currency: null })],
  ["a currency with letters that lower case would turn into ASCII", JSON.stringify({ ...plain, currency: "\u212Aes" })],
  ["an empty item", JSON.stringify({ ...plain, item: "" })],
  ["an item of 201 characters", JSON.stringify({ ...plain, item: "x".repeat(201) })],
  ["an item that is no text", JSON.stringify({ ...plain, item: 5 })],
  ["an item with a zero byte, which no column can hold", JSON.stringify({ ...plain, item: "a\0b" })],
  ["an empty reference", JSON.stringify({ ...plain, reference: "" })],
  ["a reference with a zero byte", JSON.stringify({ ...plain, reference: "\0" })],
])("is no order: %s", (_, text) => {
  expect(() => orderOf(parseJson(text))).toThrow(Problem);
  expect(() => orderOf(parseJson(text))).toThrow(expect.objectContaining({ statusCode: 400, slug: "invalid-order" }));
});

/**
 * A target is an API under test. This is the shape of the one file that describes it; the reference and
 * the zoo are described by nothing else.
 */
import { z } from "zod";
import { type Contract, contractOverridesSchema } from "./contract.ts";

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
const json: z.ZodType<Json> = z.lazy(() =>
  z.union([z.null(), z.boolean(), z.number(), z.string(), z.array(json), z.record(z.string(), json)]),
);
const jsonObject = z.record(z.string(), json);
const pointer = z.string().regex(/^(\/[^/]*)+$/, "a JSON pointer such as /amount");
const route = z.string().regex(/^[A-Z]+ \/\S*$/, "a method and a path such as GET /health");
const headers = z.record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "a header name"), z.string());
const status = z.int().min(100).max(599);

/** Either fields laid over the plain body, or the whole body as text, for spellings that YAML would lose. */
const variation = z.union([z.strictObject({ raw: z.string() }), jsonObject]);

const condition = z.strictObject({
  headers: headers.describe("Request headers that ask the target for this behaviour; they must not be fingerprinted"),
});
const slow = condition.extend({
  ms: z.int().min(20).max(5_000).describe("How long the handler then takes, in milliseconds"),
});

const operation = z.strictObject({
  request: z.strictObject({
    method: z.enum(["POST", "PUT", "PATCH", "DELETE"]),
    path: z.string().startsWith("/"),
    headers: headers.optional(),
    body: z
      .union([z.string(), jsonObject])
      .optional()
      .describe("JSON, or the whole body as text. ${operation} becomes a reference unique to the operation."),
  }),
  success: z.array(status).min(1).describe("Statuses that acknowledge the operation"),
  outcome: z
    .union([z.array(pointer), z.record(pointer, json)])
    .default([])
    .describe("Fields that must be fingerprinted; as a map: each with another valid value"),
  equal: z.array(variation).default([]).describe("Spellings that mean the same request"),
  different: z
    .array(z.tuple([variation, variation]))
    .default([])
    .describe("Pairs of requests that look alike and are two"),
  invalid: variation.optional().describe("What the target must refuse as invalid"),
  invalidStatus: z.array(status).default([400, 422]).describe("Statuses of that refusal"),
  query: z
    .string()
    .regex(/^[^?#]+$/, "a query without its question mark, such as channel=phone")
    .optional()
    .describe("A query that makes it another request"),
  slow: slow.optional().describe("How to make the handler take its time"),
  fails: condition.optional().describe("How to make the handler fail with a 5xx before any effect"),
  answer: z
    .record(z.string(), pointer)
    .optional()
    .describe("Columns of the effects and where the answer shows the same value; default: equal top-level names"),
});

const http = z.strictObject({
  http: route.describe("Where the books are read, such as GET /ledger"),
  headers: headers.optional(),
  rows: z.string().default("").describe("JSON pointer of the array of rows; empty: the answer itself"),
  columns: z.record(z.string(), pointer).describe("Column names and where a row holds their values"),
});
const sql = z.strictObject({
  sql: z.string(),
  on: z.string().describe("`postgres` for the lab's database, or a postgres:// URL"),
});

const states = {
  completed: z.array(z.string()).default(["completed"]).describe("States of a finished key record"),
};

const start = z.strictObject({
  directory: z.string().optional().describe("Where the commands run; relative to this file"),
  prepare: z.string().optional().describe("Run once before the replicas start"),
  command: z.string(),
  env: z.record(z.string(), z.coerce.string()).default({}),
  replicas: z.int().min(1).max(16).default(2),
  ready: route,
  readyMs: z.int().min(100).max(600_000).default(20_000),
});

const caller = z.strictObject({ headers });

export const targetSchema = z
  .strictObject({
    name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "letters, digits, dots and dashes"),
    start: start.optional().describe("Left out when the target is already running at `urls`"),
    urls: z.array(z.url()).min(1).optional(),
    http2: z
      .union([z.literal("${http2Port}"), z.array(z.url()).min(1)])
      .optional()
      .describe("HTTP/2 with prior knowledge: the lab's second port, or URLs (http: h2c, https: TLS)"),
    arrival: z
      .strictObject({ header: z.string(), answered: z.string().optional() })
      .optional()
      .describe("Answer headers with the monotonic microseconds of a request's arrival and of its answer"),
    callers: z.record(z.string(), caller).default({ anyone: { headers: {} } }),
    operations: z.record(z.string().regex(/^[a-z0-9-]+$/, "lower-case words and dashes"), operation),
    contract: contractOverridesSchema.default({ extends: "strict" }),
    effects: z.union([sql, http]).optional().describe("The books: one row per effect, with a column `operation`"),
    records: z
      .union([sql.extend(states), http.extend(states)])
      .optional()
      .describe("The key records: columns `key` and `state`"),
  })
  .superRefine((target, context) => {
    const complain = (path: (string | number)[], message: string) =>
      context.addIssue({ code: "custom", path, message });
    if ((target.start === undefined) === (target.urls === undefined)) {
      complain([], "expected either `start` (the lab starts the target) or `urls` (it is already running)");
    }
    if (Object.keys(target.operations).length === 0) complain(["operations"], "expected at least one operation");
    if (Object.keys(target.callers).length === 0) complain(["callers"], "expected at least one caller");
    if (target.effects && "http" in target.effects && !("operation" in target.effects.columns)) {
      complain(["effects", "columns"], "expected a column `operation` that holds what the request had as ${operation}");
    }
    if (target.records && "http" in target.records) {
      for (const column of ["key", "state"]) {
        if (!(column in target.records.columns)) complain(["records", "columns"], `expected a column \`${column}\``);
      }
    }
  });

/** The file as its author wrote it, defaults filled in. */
export type TargetFile = z.output<typeof targetSchema>;
export type TargetOperation = z.output<typeof operation>;
export type Variation = z.output<typeof variation>;
export type BooksSource = z.output<typeof sql> | z.output<typeof http>;

/** A target ready to be started: its file, where that file lies, and the contract it settles on. */
export interface Target {
  readonly file: TargetFile;
  readonly directory: string;
  readonly contract: Contract;
}

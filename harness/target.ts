/**
 * A target is an API under test. This is the shape of the one file that describes it; the reference and
 * the zoo are described by nothing else. A `title` says in words what a mistaken value should have been.
 */
import { z } from "zod";
import { type Contract, contractOverridesSchema } from "./contract.ts";

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
const json: z.ZodType<Json> = z
  .lazy(() => z.union([z.null(), z.boolean(), z.number(), z.string(), z.array(json), z.record(z.string(), json)]))
  .meta({ id: "json", title: "a JSON value" });
const jsonObject = z.record(z.string(), json);

/** Text of a certain shape, and how that shape is called in a message. */
function text(pattern: RegExp, title: string): z.ZodString {
  return z.string().regex(pattern).meta({ title });
}
/** RFC 6901, but not the whole document. */
const pointer = text(/^(\/([^/~]|~[01])*)+$/, "a JSON pointer such as /amount");
const route = text(/^[A-Z]+ \/[!-~]*$/, "a method and a path such as GET /health");
const headerName = text(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "a header name such as x-tenant");
const headers = z.record(headerName, text(/^[\t\x20-\x7e\x80-\xff]*$/, "a header value on one line"));
const status = z.int().min(100).max(599).meta({ title: "a status from 100 to 599" });
const url = z.url({ protocol: /^https?$/ }).meta({ title: "a URL such as http://localhost:3000" });

/** Either fields laid over the plain body, or the whole body as text, for spellings that YAML would lose. */
const variation = z
  .union([z.strictObject({ raw: z.string() }), jsonObject])
  .meta({ title: "a map of fields to lay over the body, or { raw: text }" });

const condition = z.strictObject({
  headers: headers.describe("Request headers that ask the target for this behaviour; they must not be fingerprinted"),
});
const slow = condition.extend({
  ms: z.int().min(20).max(5_000).describe("How long the handler then takes, in milliseconds"),
});

/** Checked with the rules of the file: zod would not look at what stands under a wrong name. */
export const operationName = { pattern: "^[a-z0-9-]+$", title: "a name of lower-case letters, digits and dashes" };

const path = text(/^\/[!-~]*$/, "a path such as /orders, its special characters percent-encoded");

const operation = z.strictObject({
  request: z.strictObject({
    method: z.enum(["POST", "PUT", "PATCH", "DELETE"]),
    path,
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
  query: text(/^[!"$->@-~]+$/, "a query without its question mark, such as channel=phone")
    .optional()
    .describe("A query that makes it another request"),
  slow: slow.optional().describe("How to make the handler take its time"),
  fails: condition.optional().describe("How to make the handler fail with a 5xx before any effect"),
  downstream: z.boolean().default(false).describe("The handler calls the lab's processor (${processor})"),
  failpoints: condition
    .extend({ phases: z.array(text(/^[a-z][a-z-]*$/, "a phase such as claimed")).min(1) })
    .optional()
    .describe(
      "Phases at whose boundaries the target asks ${failpoints} what is to happen, in order, and the request headers that turn this on",
    ),
  baseline: z
    .strictObject({ path: path.optional(), headers: headers.optional() })
    .optional()
    .describe("For `bench`: where the same business operation is reached without the key layer"),
  large: z
    .strictObject({
      path: path.optional(),
      headers: headers.optional(),
      body: jsonObject.optional().describe("Fields to lay over the body"),
    })
    .optional()
    .describe("For `bench`: how the same operation gets a large answer, so that storage is measured with both"),
  answer: z
    .record(z.string(), pointer)
    .optional()
    .describe("Columns of the effects and where the answer shows the same value; default: equal top-level names"),
});

const http = z.strictObject({
  http: route.describe("Where the books are read, such as GET /ledger"),
  headers: headers.optional(),
  rows: text(/^(\/([^/~]|~[01])*)*$/, "a JSON pointer such as /rows")
    .default("")
    .describe("JSON pointer of the array of rows; empty: the answer itself"),
  columns: z.record(z.string(), pointer).describe("Column names and where a row holds their values"),
});
const sql = z.strictObject({
  sql: z.string(),
  on: text(/^(postgres|postgres(ql)?:\/\/.+)$/, "postgres for the lab's database, or a postgres:// URL"),
});

/** Filled in by a bench that looks at the cleanup. */
const fill = text(
  /^(?=[\s\S]*\$\{count\})(?=[\s\S]*\$\{prefix\})(?=[\s\S]*\$\{expiresAt\})/,
  "SQL with ${count}, ${prefix} and ${expiresAt} in it",
);

const states = {
  completed: z.array(z.string()).default(["completed"]).describe("States of a finished key record"),
};

const environmentValue = z
  .union([z.string(), z.number(), z.boolean()])
  .transform(String)
  .meta({ title: "text, a number or a boolean" });

const variables = z.record(text(/^[^=\0]+$/, "a variable's name"), environmentValue);
const command = z.string().min(1);

const start = z.strictObject({
  directory: z.string().optional().describe("Where the commands run; relative to this file"),
  prepare: z.string().min(1).optional().describe("Run once before the replicas start"),
  prepareMs: z.int().min(100).max(3_600_000).default(300_000).describe("How long `prepare` may take"),
  command: command.describe("Runs one replica, in the foreground"),
  env: variables
    .default({})
    .describe(
      "${port}, ${http2Port}, ${replica}, ${postgres}, ${redis}, ${processor} and ${failpoints} are filled in by the lab",
    ),
  beside: z
    .record(text(/^[a-z0-9-]+$/, "a name of lower-case letters, digits and dashes"), z.string().min(1))
    .default({})
    .describe("Further processes of the target, such as a reconciler: names and commands, one of each"),
  redeploy: z
    .strictObject({ env: variables })
    .optional()
    .describe(
      "Variables beside `env` that make a replica another version of the target, such as one with another fingerprint algorithm; both have to honour the keys of the other",
    ),
  baseline: z
    .strictObject({ command: command.optional(), env: variables.optional() })
    .optional()
    .describe(
      "For `bench`: a second start of the same service without its key layer, by another command or with further variables",
    ),
  replicas: z.int().min(1).max(16).default(2),
  ready: route,
  readyMs: z.int().min(100).max(600_000).default(20_000),
});

const caller = z.strictObject({ headers });

export const targetSchema = z.strictObject({
  name: text(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "a name of letters, digits, dots and dashes"),
  start: start.optional().describe("Left out when the target is already running at `urls`"),
  processor: z
    .strictObject({
      honoursKeys: z
        .boolean()
        .default(true)
        .describe("false: it takes each call for a new one, whatever idempotency key it carries"),
    })
    .optional()
    .describe("How the lab's processor treats the target's calls"),
  urls: z.array(url).min(1).optional(),
  http2: z
    .union([z.literal("${http2Port}"), z.array(url).min(1)])
    .optional()
    .describe("HTTP/2 with prior knowledge: the lab's second port, or URLs (http: h2c, https: TLS)"),
  arrival: z
    .strictObject({ header: z.string(), answered: z.string().optional() })
    .optional()
    .describe("Answer headers with the monotonic microseconds of a request's arrival and of its answer"),
  callers: z
    .record(z.string(), caller)
    .meta({ minProperties: 1 })
    .default({ anyone: { headers: {} } }),
  operations: z
    .record(z.string(), operation)
    .meta({ propertyNames: { type: "string", ...operationName }, minProperties: 1 }),
  contract: contractOverridesSchema.default({ extends: "strict" }),
  effects: z.union([sql, http]).optional().describe("The books: one row per effect, with a column `operation`"),
  records: z
    .union([
      sql.extend({
        ...states,
        fill: fill
          .optional()
          .describe(
            "For `bench --expired`: a statement that adds ${count} finished records, their keys beginning with ${prefix}, which expire at ${expiresAt}",
          ),
      }),
      http.extend(states),
    ])
    .optional()
    .describe("The key records: columns `key` and `state`"),
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

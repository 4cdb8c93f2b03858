import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { contracts } from "../contracts/list.ts";
import { Failure } from "../fail.ts";
import { parseTarget, readTarget } from "./target-file.ts";

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "idemproof-target-file-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** The mistakes told of a file, without its path. */
async function mistakesIn(content: string | Buffer): Promise<readonly string[]> {
  const file = join(directory, "target.yaml");
  await writeFile(file, content);
  const error: unknown = await readTarget(file).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error === null) return [];
  if (!(error instanceof Failure)) throw error;
  expect(error.code).toBe("usage");
  expect(error.message).not.toMatch(/invalid input|zod|undefined\b|\[object/i);
  const [head = "", ...lines] = error.message.replaceAll(`${file}:`, "").split("\n");
  return lines.length === 0 ? [head.trim()] : lines.map((line) => line.trim());
}

/** A right target file with some of its lines exchanged. */
function fileWith(changes: Readonly<Record<string, string>>): string {
  const lines: Record<string, string> = {
    name: "name: orders",
    start: "start: { command: node server.js, env: { PORT: '${port}', URL: '${postgres}' }, ready: GET /health }",
    operations:
      "operations:\n  create:\n    request: { method: POST, path: /orders, body: { amount: 1, id: '${operation}' } }",
    success: "    success: [201]",
    more: "",
    effects: "effects: { sql: select id as operation from ledger, on: postgres }",
    rest: "",
    ...changes,
  };
  return Object.values(lines)
    .filter((line) => line !== "")
    .join("\n");
}

const ALL_NAMES = "name, start, processor, urls, http2, arrival, callers, operations, contract, effects, records";

test("a right file is read, with defaults filled in and the contract settled", async () => {
  await writeFile(join(directory, "target.yaml"), fileWith({ rest: "contract: { leaseMs: 1000 }" }));
  const target = await readTarget(directory);
  expect(target.directory).toBe(directory);
  expect(target.contract).toMatchObject({ id: expect.stringMatching(/^strict/), leaseMs: 1000 });
  expect(target.file.start).toMatchObject({ replicas: 2, readyMs: 20_000, prepareMs: 300_000 });
  expect(target.file.callers).toEqual({ anyone: { headers: {} } });
});

test("the example of the design is read whole", async () => {
  const example = `
name: orders-api
start:                          # left out when the target is already running at \`urls\`
  prepare: npm ci               # once
  command: node dist/server.js
  env: { PORT: "\${port}", DATABASE_URL: "\${postgres}", PROCESSOR_URL: "\${processor}", REDIS_URL: "\${redis}" }
  replicas: 2
  ready: GET /health
callers:                        # two or more, so that scopes can be tested
  alice: { headers: { authorization: "Bearer alice-token" } }
  bob:   { headers: { authorization: "Bearer bob-token" } }
operations:
  create-order:
    request: { method: POST, path: /orders, body: { amount: 1999, currency: usd, item: book, reference: "\${operation}" } }
    success: [201]
    outcome: [/amount, /currency, /item]          # fields that must be fingerprinted
    equal:   [ { currency: USD } ]                # spellings that mean the same
    invalid: { amount: -1 }
contract: { extends: strict, retentionMs: 2000, leaseMs: 1000 }
effects:  { sql: "select id, reference as operation, amount, currency from ledger", on: postgres }
records:  { sql: "select scope, key, state, recovery_point from idempotency_keys", on: postgres }
`;
  expect(await mistakesIn(example)).toEqual([]);
});

test("ten mistakes are ten lines, in the order of the file", async () => {
  const mistakes = await mistakesIn(`name: my orders
start:
  command: node server.js
  env: { PORT: "\${prot}", URL: "\${postgres}" }
  replicas: 99
  raedy: GET /health
operations:
  create:
    request: { method: GET, path: orders, body: { amount: 1, id: "\${operation}" } }
    success: 201
    outcome: [/amuont]
contract: { extends: strickt }
effects: { sql: select id as operation from ledger, on: mysql }
`);
  expect(mistakes).toEqual([
    '1:7: name: found "my orders", expected a name of letters, digits, dots and dashes',
    "2:1: start: found ${port} nowhere, expected it in env or command: the target must listen where the lab looks",
    "4:16: start.env.PORT: found ${prot}, which the lab does not provide, expected one of ${port}, ${http2Port}, ${replica}, ${postgres}, ${redis}, ${processor}, ${failpoints}; did you mean port?",
    "5:13: start.replicas: found 99, expected a whole number from 1 to 16",
    '6:3: start.raedy: found the unknown name "raedy", expected one of directory, prepare, prepareMs, command, env, beside, redeploy, baseline, replicas, ready, readyMs; did you mean ready?',
    '9:24: operations.create.request.method: found "GET", expected "POST" or "PUT" or "PATCH" or "DELETE"',
    '9:35: operations.create.request.path: found "orders", expected a path such as /orders, its special characters percent-encoded',
    "10:14: operations.create.success: found 201, expected a list of at least 1, each element a status from 100 to 599",
    "11:15: operations.create.outcome.0: found /amuont, expected a field of request.body; did you mean /amount?",
    `12:22: contract.extends: found "strickt", expected one of ${contracts.map(({ id }) => id).join(", ")}; did you mean strict?`,
    '13:57: effects.on: found "mysql", expected postgres for the lab\'s database, or a postgres:// URL',
  ]);
});

test.each<[string, string, string]>([
  ["nothing", "", "1:1: found an empty value (null), expected a map with name and operations"],
  ["only a comment", "# later\n", "1:1: found an empty value (null), expected a map with name and operations"],
  ["a list", "- a\n- b\n", '1:1: found ["a","b"], expected a map with name and operations'],
  ["text", "orders\n", '1:1: found "orders", expected a map with name and operations'],
  ["a tab", "name: a\nstart:\n\tcommand: x\n", "3:1: found a tab, expected spaces: YAML is indented with spaces only"],
  [
    "a name of the lab's without quotes in a map in braces",
    fileWith({ start: "start: { command: node server.js, env: { PORT: ${port}, URL: ${postgres} }, ready: GET / }" }),
    '2:48: found ${port} without quotes within { } or [ ], where its braces mean a map, expected "${port}"',
  ],
  ["an open quote", 'name: "a\n', '2:1: found no valid YAML: Missing closing "quote'],
  [
    "a colon in text",
    "name: a: b\n",
    "1:7: found a second colon in one line, expected quotes around text that holds a colon and a space",
  ],
  ["two documents", `${fileWith({})}\n---\nname: b\n`, "8:1: found a second document (---), expected one"],
  [
    "a name twice",
    fileWith({ rest: "name: again" }),
    '8:1: found the name "name" a second time in one map, expected it once',
  ],
  ["a tag", fileWith({ name: "name: !env NAME" }), "1:7: found a tag (Unresolved tag: !env), expected plain YAML"],
  [
    "an alias without anchor",
    fileWith({ name: "name: *other" }),
    "1:7: found the alias *other, expected its anchor &other before it",
  ],
  [
    "a merge of text",
    fileWith({ more: "    <<: create" }),
    "7:9: <<: found a value, expected an alias of a map such as *name",
  ],
  [
    "an alias inside its anchor",
    fileWith({ more: "    equal: &a [*a]" }),
    "1:1: found values nested more than 64 deep",
  ],
  ["deep nesting", `name: ${"[".repeat(50_000)}`, "1:1: found values nested more than 64 deep"],
  ["deep compact nesting", `name:\n${"- ".repeat(50_000)}a`, "1:1: found values nested more than 64 deep"],
])("a file with %s is told in words", async (_, content, expected) => {
  expect(await mistakesIn(content)).toContain(expected);
});

test("an alias bomb is refused at once", async () => {
  const levels = Array.from(
    "bcdefgh",
    (name, index) => `${name}: &${name} [${Array(9).fill(`*${"abcdefg"[index]}`).join(", ")}]`,
  );
  const began = performance.now();
  expect(await mistakesIn(`a: &a [x, x, x]\n${levels.join("\n")}\n`)).toEqual([
    "1:1: found more than 100 values made by aliases (*name), expected a plain file",
  ]);
  expect(performance.now() - began).toBeLessThan(2_000);
});

test("after a syntax error the parser's later stumbles are few, short and on one line", async () => {
  const mistakes = await mistakesIn('import a from "b";\nconst x = { y: 1,\n  z: [2 };\n'.repeat(40));
  expect(mistakes.length).toBeLessThanOrEqual(6);
  for (const mistake of mistakes) expect(mistake.length).toBeLessThan(200);
});

test.each<[string, Buffer]>([
  ["binary", Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2])],
  ["Latin-1", Buffer.from([0x6e, 0x61, 0x6d, 0x65, 0x3a, 0x20, 0xe9])],
  ["UTF-16", Buffer.from("\ufeffname: a", "utf16le")],
])("a %s file is no text", async (_, content) => {
  expect(await mistakesIn(content)).toEqual(["found bytes that are no UTF-8 text, expected a target file in YAML"]);
});

test("a file with a byte order mark and Windows line ends is read", async () => {
  expect(await mistakesIn(`\ufeff${fileWith({}).replaceAll("\n", "\r\n")}`)).toEqual([]);
});

test("a file of two megabytes is refused by its size", async () => {
  expect(await mistakesIn("#".repeat(2_000_000))).toEqual([
    "found 2000000 bytes, expected a target file of at most 1048576",
  ]);
});

test("what is no file is told apart from what is not there", async () => {
  await expect(readTarget(join(directory, "none.yaml"))).rejects.toThrow(
    /none\.yaml: the target file cannot be read \(found no such file, expected a target file, or a folder with a target\.yaml\)/,
  );
  const empty = await mkdtemp(join(directory, "empty-"));
  await expect(readTarget(empty)).rejects.toThrow(/the target file cannot be read \(found no such file/);
  await expect(readTarget("/dev/null")).rejects.toThrow("/dev/null: found something that is no file");
});

test.each<[string, Readonly<Record<string, string>>, string]>([
  [
    "at the top",
    { rest: "url: [http://localhost]" },
    `8:1: url: found the unknown name "url", expected one of ${ALL_NAMES}; did you mean urls?`,
  ],
  [
    "of another place",
    { rest: "leaseMs: 1000" },
    `8:1: leaseMs: found the unknown name "leaseMs", expected one of ${ALL_NAMES}; leaseMs belongs in contract`,
  ],
  [
    "in an operation",
    { more: "    sucess: [200]" },
    '7:5: operations.create.sucess: found the unknown name "sucess", expected one of request, success, outcome, equal, different, invalid, invalidStatus, query, slow, fails, downstream, failpoints, baseline, large, answer; did you mean success?',
  ],
  [
    "in a contract's group",
    { rest: "contract: { inFlight: { retry-after: required } }" },
    '8:25: contract.inFlight.retry-after: found the unknown name "retry-after", expected one of answers, retryAfter; did you mean retryAfter?',
  ],
  [
    "in a choice",
    { rest: "records: { sql: select key from k, on: postgres, complete: [done] }" },
    '8:50: records.complete: found the unknown name "complete", expected one of sql, on, completed, fill; did you mean completed?',
  ],
  [
    "of an invariant",
    { rest: "contract: { levels: { at-most-one-efect: info } }" },
    '8:23: contract.levels.at-most-one-efect: found "at-most-one-efect", expected the id of an invariant; did you mean at-most-one-effect?',
  ],
])("an unknown name %s comes with a suggestion", async (_, changes, expected) => {
  expect(await mistakesIn(fileWith(changes))).toEqual([expected]);
});

test.each<[string, Readonly<Record<string, string>>, string]>([
  [
    "effects of neither kind",
    { effects: "effects: {}" },
    "7:10: effects: found {}, expected a map with sql and on, or a map with http and columns",
  ],
  [
    "effects as text",
    { effects: "effects: select 1" },
    '7:10: effects: found "select 1", expected a map with sql and on, or a map with http and columns',
  ],
  [
    "effects without their database",
    { effects: "effects: { sql: select 1 }" },
    "7:1: effects.on: found nothing, expected postgres for the lab's database, or a postgres:// URL",
  ],
  [
    "books over HTTP without rows' columns",
    { effects: "effects: { http: GET /ledger }" },
    "7:1: effects.columns: found nothing, expected a map",
  ],
  [
    "an outcome as text",
    { more: "    outcome: /amount" },
    '7:14: operations.create.outcome: found "/amount", expected a list, each element a JSON pointer such as /amount, or a map',
  ],
  [
    "an outcome without its slash",
    { more: "    outcome: { amount: 2 }" },
    '7:16: operations.create.outcome.amount: found the name "amount", expected a JSON pointer such as /amount',
  ],
  [
    "one status instead of a list",
    { rest: "contract: { mismatch: 422 }" },
    '8:23: contract.mismatch: found 422, expected "undocumented", or a list of at least 1, each element a whole number from 100 to 599, or a map with status',
  ],
  [
    "a status out of range",
    { rest: "contract: { mismatch: [422, 999] }" },
    "8:29: contract.mismatch.1: found 999, expected a whole number from 100 to 599",
  ],
  [
    "an answer without its status",
    { rest: "contract: { inFlight: { answers: [{ pointer: /code }] } }" },
    "8:35: contract.inFlight.answers.0.status: found nothing, expected a whole number from 100 to 599",
  ],
  [
    "a misspelt choice",
    { rest: "contract: { key: { placement: { haeder: X } } }" },
    '8:33: contract.key.placement.haeder: found the unknown name "haeder", expected one of header; did you mean header?',
  ],
  [
    "a wrong word",
    { rest: "contract: { replay: { body: same, marker: none } }" },
    '8:29: contract.replay.body: found "same", expected "verbatim" or "current-state"',
  ],
  [
    "a number as header",
    { rest: "callers: { alice: { headers: { x-tenant: 5 } } }" },
    "8:42: callers.alice.headers.x-tenant: found 5, expected a header value on one line, in quotes",
  ],
  [
    "a header on two lines",
    { rest: 'callers: { alice: { headers: { x-tenant: "a\\nb" } } }' },
    '8:42: callers.alice.headers.x-tenant: found "a\\nb", expected a header value on one line',
  ],
  [
    "a body that is no JSON",
    { more: "    invalid: { amount: .nan }" },
    "7:24: operations.create.invalid.amount: found NaN, expected a JSON value",
  ],
  ["a name without a value", { rest: "callers:" }, "8:9: callers: found an empty value (null), expected a map"],
  [
    "a URL without its scheme",
    { start: "urls: [localhost:3000]", effects: "" },
    '2:8: urls.0: found "localhost:3000", expected a URL such as http://localhost:3000',
  ],
  [
    "a wrong name above a mistake",
    {
      operations: "operations:\n  Create:\n    request: { method: POST, path: '/o/${operation}' }",
      success: "    success: 201",
    },
    '4:3: operations.Create: found the name "Create", expected a name of lower-case letters, digits and dashes',
  ],
])("%s: the nearest form is named", async (_, changes, expected) => {
  expect(await mistakesIn(fileWith(changes))).toContain(expected);
});

test.each<[string, Readonly<Record<string, string>>, string]>([
  [
    "neither way in",
    { start: "", effects: "" },
    "1:1: found neither `start` nor `urls`, expected `start` (the lab starts the target) or `urls` (it is already running)",
  ],
  [
    "both ways in",
    { rest: "urls: [http://localhost]" },
    "8:7: urls: found both `start` and `urls`, expected `start` (the lab starts the target) or `urls` (it is already running)",
  ],
  [
    "no operation",
    { operations: "operations: {}", success: "" },
    "3:13: operations: found none, expected at least one operation",
  ],
  [
    "no port",
    { start: "start: { command: node server.js, env: { URL: '${postgres}' }, ready: GET / }" },
    "2:1: start: found ${port} nowhere, expected it in env or command: the target must listen where the lab looks",
  ],
  [
    "a shell variable in the lab's spelling",
    { start: "start: { command: 'node ${HOME}/s.js ${port} ${postgres}', ready: GET / }" },
    "2:19: start.command: found ${HOME}, which the lab does not provide, expected one of ${port}, ${http2Port}, ${replica}, ${postgres}, ${redis}, ${processor}, ${failpoints}; for a variable of the shell write $HOME",
  ],
  [
    "a replica's name in prepare",
    { start: "start: { prepare: 'migrate ${port}', command: 'run ${port} ${postgres}', ready: GET / }" },
    "2:19: start.prepare: found ${port}, which only a replica has, expected ${postgres} or ${redis} or none",
  ],
  [
    "the lab's database unknown to the target",
    { start: "start: { command: 'run ${port}', ready: GET / }" },
    "7:57: effects.on: found postgres, the lab's database, expected ${postgres} in start.env or start.command as well: else the target uses another one",
  ],
  [
    "the lab's database beside a running target",
    { start: "urls: [http://localhost]" },
    "7:57: effects.on: found postgres, the lab's database, expected a postgres:// URL: the lab does not start this target",
  ],
  [
    "the lab's second port beside a running target",
    { start: "urls: [http://localhost]", effects: 'http2: "${http2Port}"' },
    "7:8: http2: found ${http2Port}, expected URLs: the lab does not start this target",
  ],
  [
    "a second port that is not handed on",
    { rest: 'http2: "${http2Port}"' },
    "8:8: http2: found ${http2Port} nowhere in start, expected it in env or command, as the second port",
  ],
  [
    "effects that nothing names",
    { operations: "operations:\n  create:\n    request: { method: POST, path: /orders, body: { id: '${order}' } }" },
    "5:5: operations.create.request: found ${order} and no ${operation} in path or body, expected it where the effects' column `operation` takes its value from",
  ],
  [
    "a spelling that drops the reference",
    { more: "    equal: [{ raw: '{\"amount\":1}' }]" },
    "7:13: operations.create.equal.0: found no ${operation}, expected it as in request.body",
  ],
  [
    "a field beside raw",
    { more: "    invalid: { raw: '{', amount: 1 }" },
    "7:14: operations.create.invalid: found amount beside raw, expected raw alone: it is the whole body",
  ],
  [
    "an outcome that is not in the body",
    { more: "    outcome: [/total]" },
    "7:15: operations.create.outcome.0: found /total, expected a field of request.body",
  ],
  [
    "an outcome of an inherited name",
    { more: "    outcome: [/__proto__/toString]" },
    "7:15: operations.create.outcome.0: found /__proto__/toString, expected a field of request.body",
  ],
  [
    "an outcome that is no other value",
    { more: "    outcome: { /amount: 1 }" },
    "7:25: operations.create.outcome./amount: found the value of request.body, expected another valid one",
  ],
  [
    "an outcome without another value",
    {
      operations:
        "operations:\n  create:\n    request: { method: POST, path: /orders, body: { tags: [a], id: '${operation}' } }",
      more: "    outcome: [/tags]",
    },
    "7:15: operations.create.outcome.0: found /tags, which is a list, expected outcome as a map that gives it another valid value",
  ],
  [
    "an outcome of a body that is no JSON",
    {
      operations: "operations:\n  create:\n    request: { method: POST, path: /orders, body: 'id=${operation}' }",
      more: "    outcome: [/id]",
    },
    "7:15: operations.create.outcome.0: found /id, expected a field of request.body, which is no JSON object",
  ],
  [
    "a number that a double does not hold",
    { more: "    invalid: { amount: 9007199254740993 }" },
    "7:24: operations.create.invalid.amount: found a number beyond 2^53 (read as 9007199254740992), expected text that holds it: { raw: … } or a body in quotes",
  ],
  [
    "a key in a body that is none",
    {
      operations: "operations:\n  create:\n    request: { method: POST, path: '/orders/${operation}' }",
      rest: "contract: { key: { placement: { body: /key } } }",
    },
    '5:5: operations.create.request: found no JSON object as body, expected one: the contract puts the key at "/key" of it',
  ],
  [
    "books over HTTP without a column",
    { rest: "records: { http: GET /keys, columns: { key: /k } }" },
    "8:38: records.columns: found no column state, expected one that holds the state",
  ],
])("%s is a mistake", async (_, changes, expected) => {
  expect(await mistakesIn(fileWith(changes))).toContain(expected);
});

test("a mistake that aliases repeat is told once, where it stands", async () => {
  const content = fileWith({
    operations:
      "operations:\n  create: &create\n    request: { method: POST, path: /orders, body: { amount: 1, id: '${operation}' } }\n    invalidStatus: [40]",
    more: "  refund: { <<: *create, query: channel=phone }",
  });
  expect(await mistakesIn(content)).toEqual([
    "6:21: operations.create.invalidStatus.0: found 40, expected a status from 100 to 599",
  ]);
});

test("more than fifty mistakes are counted", async () => {
  const mistakes = await mistakesIn(
    fileWith({ rest: Array.from({ length: 70 }, (_, n) => `unknown${n}: 1`).join("\n") }),
  );
  expect(mistakes).toHaveLength(51);
  expect(mistakes.at(-1)).toBe("and 20 more");
});

test("an object is held to the same rules, without positions", () => {
  const told = (input: unknown): string => {
    try {
      parseTarget(
        input,
        directory,
        (complaints) => new Failure("usage", complaints.map(({ message }) => message).join("\n")),
      );
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  };
  const operations = { create: { request: { method: "POST", path: "/orders" }, success: [201] } };
  expect(told({ name: "a", urls: ["http://localhost"], operations })).toBe("");
  expect(told({ name: "a", urls: ["nonsense"], operations: { ...operations, x: 1 } })).toBe(
    'urls.0: found "nonsense", expected a URL such as http://localhost:3000\noperations.x: found 1, expected a map with request and success',
  );
});

test("whatever is changed in a right file, it is read or its mistakes are told", async () => {
  const whole = fileWith({ more: '    outcome: [/amount]\n    equal: [{ raw: \'{ "id": "${operation}" }\' }]' });
  const pieces = [
    "",
    "\t",
    ":",
    "-",
    "[",
    "{",
    "}",
    "'",
    '"',
    "*a",
    "&a ",
    "<<: ",
    "!!",
    "null",
    "\n",
    "  ",
    "#",
    "9e999",
    "~",
  ];
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length), fc.nat(4), fc.constantFrom(...pieces), async (from, length, piece) => {
      for (const mistake of await mistakesIn(whole.slice(0, from) + piece + whole.slice(from + length))) {
        expect(mistake).toMatch(/found /);
      }
    }),
    { numRuns: 400 },
  );
});

test.each<[string, Readonly<Record<string, string>>, string]>([
  [
    "an operation's baseline that is no other way",
    { more: "    baseline: {}" },
    "7:15: operations.create.baseline: found nothing in it, expected path or headers, by which the key layer is left out",
  ],
  [
    "a second start that is the first one again",
    {
      start:
        "start: { command: node server.js, env: { PORT: '${port}', URL: '${postgres}' }, ready: GET /health, baseline: {} }",
    },
    "2:111: start.baseline: found nothing in it, expected command or env, by which the key layer is left out",
  ],
  [
    "a name in the second start that the lab does not provide",
    {
      start:
        "start: { command: node server.js, env: { PORT: '${port}', URL: '${postgres}' }, ready: GET /health, baseline: { env: { URL: '${postgras}' } } }",
    },
    "found ${postgras}, which the lab does not provide",
  ],
  [
    "a baseline whose effects nobody could find",
    {
      operations:
        "operations:\n  create:\n    request: { method: PUT, path: '/orders/${operation}' }\n    baseline: { path: /plain }",
    },
    'found "/plain", expected ${operation} in it as in request.path, since the body has none',
  ],
])("%s is told", async (_, changes, words) => {
  expect((await mistakesIn(fileWith(changes))).join("\n")).toContain(words);
});

test("a baseline by path, by header or by a second start is read", async () => {
  const file = (start: string, more: string): string => fileWith({ start, more });
  const start = "start: { command: node server.js, env: { PORT: '${port}', URL: '${postgres}' }, ready: GET /health";
  expect(await mistakesIn(file(`${start} }`, "    baseline: { path: /plain/orders, headers: { keys: off } }"))).toEqual(
    [],
  );
  expect(await mistakesIn(file(`${start}, baseline: { env: { KEYS: off } } }`, ""))).toEqual([]);
  expect(await mistakesIn(file(`${start}, baseline: { command: node plain.js } }`, ""))).toEqual([]);
});

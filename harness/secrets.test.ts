import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseJson } from "./evidence/answers.ts";
import { redacted, secretsOf } from "./secrets.ts";
import { targetSchema } from "./target.ts";
import { idemproof } from "./testing/command.ts";
import { misbehaving, writeTargetFolder } from "./testing/target-folder.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-secrets-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function secretsWith(headers: Readonly<Record<string, string>>, others: object = {}): readonly string[] {
  const operations = { create: { request: { method: "POST", path: "/orders" }, success: [201] } };
  const file = { name: "a", urls: ["http://localhost"], callers: { alice: { headers } }, operations, ...others };
  return secretsOf(targetSchema.parse(file));
}

test("a secret is found whole, as its last word, and in the spellings of JSON and URLs", () => {
  const secrets = secretsWith({ authorization: 'Bearer to"ken/+1' });
  for (const text of ['Bearer to"ken/+1', 'to"ken/+1', 'to\\"ken/+1', 'to\\"ken\\/+1', "to%22ken%2F%2B1"]) {
    expect(redacted(`<${text}>`, secrets)).toMatch(/^<(Bearer )?\[redacted\]>$/);
  }
});

test("a basic authorization hides its password, a cookie each of its values", () => {
  expect(
    redacted("login of ann with pass-word", secretsWith({ authorization: `Basic ${btoa("ann:pass-word")}` })),
  ).toBe("login of ann with [redacted]");
  expect(redacted("session abcd-1234", secretsWith({ cookie: "theme=dark; session=abcd-1234" }))).toBe(
    "session [redacted]",
  );
});

test("passwords of databases and of the target's URLs are secrets", () => {
  const secrets = secretsWith(
    {},
    {
      urls: ["http://user:url-password@localhost"],
      effects: { sql: "select 1", on: "postgres://user:p%40ss-word@localhost/db" },
    },
  );
  expect(redacted("url-password p%40ss-word p@ss-word", secrets)).toBe("[redacted] [redacted] [redacted]");
});

test("what says nothing stays readable: callers' names, media types, short words, small numbers", () => {
  const secrets = secretsWith({
    "x-user": "alice",
    accept: "application/json",
    "x-mode": "on",
    "x-live": "true",
    "x-id": "1999",
  });
  expect(secrets).toEqual([]);
});

test("a body stays JSON, also where a secret stands in it as a number", () => {
  const secrets = secretsWith({ "x-account": "12345678" });
  expect(parseJson(redacted('{"account":12345678,"name":"12345678"}', secrets))).toEqual({
    account: 99999999,
    name: "99999999",
  });
});

test("after a run of a target that repeats its callers' secrets everywhere, none of them is in any file or output", async () => {
  const secrets = ["alice-s3cret/+token", "bob-s3cret-token"];
  const callers = {
    alice: { headers: { authorization: `Bearer ${secrets[0]}` } },
    bob: { headers: { authorization: `Bearer ${secrets[1]}` } },
  };
  const place = await writeTargetFolder(folder, {
    start: { command: misbehaving("echoes"), prepare: `echo preparing for ${secrets[0]}` },
    callers,
    effects: { http: "GET /ledger", rows: "/rows", columns: { operation: "/operation", caller: "/caller" } },
  });
  const reports = join(place, "report");
  const args = [
    "--rounds",
    "2",
    "--concurrency",
    "5",
    "--only",
    "retry-after-answer,duplicates-at-once,same-key-other-caller",
  ];
  const { code, stdout, stderr } = await idemproof(["run", place, "--report-dir", reports, ...args]);
  // It executes every duplicate, and the report tells of it at length.
  expect(code).toBe(1);
  expect(stdout).toContain("curl");
  const names = await readdir(reports, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  expect(files.length).toBeGreaterThan(5);
  const texts = await Promise.all(files.map(async (file) => [file, await readFile(file, "utf8")] as const));
  const log = texts.find(([file]) => file.endsWith("replica-0.log"))?.[1] ?? "";
  expect(log).toContain("order of [redacted]");
  for (const [place, text] of [...texts, ["stdout", stdout], ["stderr", stderr]] as const) {
    for (const secret of secrets) {
      for (const spelling of [secret, encodeURIComponent(secret), secret.replaceAll("/", "\\/")]) {
        expect(text.includes(spelling), `${spelling} in ${place}`).toBe(false);
      }
    }
  }
});

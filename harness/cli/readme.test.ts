import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { PROJECT, runProcess } from "../testing/command.ts";

const readme = await readFile(join(PROJECT, "README.md"), "utf8");
const commands = [...readme.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block = ""]) => block.trim().split("\n"));
/** The whole zoo takes minutes; `zoo.test.ts` runs this very command. */
const ZOO = "npm run -s idemproof -- zoo --quick";
/** Measures for a minute, and a busy machine is no place for it; `bench.test.ts` plays a short one. */
const BENCH = "npm run -s idemproof -- bench --threshold 'first-use.p50.difference < 15ms'";
/** Fills a million records three times; `storage.test.ts` does the same with few. */
const CLEANUP =
  "npm run -s idemproof -- bench targets/reference/target.yaml targets/reference/unbounded.yaml targets/reference/partitioned.yaml --rate 50 --expired 1000000";
/** Installing is what got this test here, and running the tests from a test has no end. */
const NOT_FROM_HERE = ["npm ci", "npm test", ZOO, BENCH, CLEANUP];

let server: Server;
let directory = "";
const answers = new Map<string, string>();

/** The API of the first look: it keeps its keys well enough to pass without books. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "idemproof-readme-"));
  server = createServer((request, response) => {
    const key = String(request.headers["idempotency-key"] ?? "");
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => answer(key, body, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  server.close();
  await rm(directory, { recursive: true, force: true });
});

function answer(key: string, body: string, response: ServerResponse): ServerResponse {
  const type = { "content-type": "application/json" };
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) return response.writeHead(400, type).end('{"error":"key"}');
  const before = answers.get(key);
  if (before !== undefined && before !== canonical(body))
    return response.writeHead(422, type).end('{"error":"reused"}');
  answers.set(key, canonical(body));
  const headers = before === undefined ? type : { ...type, "idempotency-replayed": "true" };
  return response.writeHead(201, headers).end(JSON.stringify({ id: key }));
}

function canonical(body: string): string {
  return JSON.stringify(Object.entries(JSON.parse(body) as object).sort());
}

describe("the commands of the README", () => {
  test.each(commands.filter((command) => !NOT_FROM_HERE.includes(command)))("%s", async (command) => {
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    // The full run belongs to the user; a test plays the quick one. Reports go where no other test looks.
    const line = command === "npm start" ? "npm start -- --quick" : command;
    const here = line.startsWith("npm start") ? ` --report-dir ${join(directory, "reports")}` : "";
    const adapted = `${line}${here}`
      .replace("127.0.0.1:3000", `127.0.0.1:${port}`)
      .replace("reports/latest/history.ndjson", join(directory, "reports", "history.ndjson"));
    const { code, stdout, stderr } = await runProcess("/bin/sh", ["-c", adapted], {});
    expect(code, `${stdout}\n${stderr}`).toBe(0);
    expect(stdout).not.toBe("");
  });

  test("are the two commands of the first screen, and the tests", () => {
    expect(commands.slice(0, 2)).toEqual(["npm ci", "npm start"]);
    expect(commands).toContain("npm test");
    expect(commands).toContain(ZOO);
    expect(commands).toContain(BENCH);
    expect(commands).toContain(CLEANUP);
  });
});

test("the target file of the README is one that the harness reads", async () => {
  const [, text = ""] = /^```yaml\n([\s\S]*?)^```/m.exec(readme) ?? [];
  const { targetSchema } = await import("../target.ts");
  expect(targetSchema.safeParse(parse(text)).error).toBeUndefined();
});

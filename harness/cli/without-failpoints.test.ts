import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { idemproof, PROJECT } from "../testing/command.ts";

interface TargetFile {
  start: { command: string; env: Record<string, string>; beside: Record<string, string> };
  operations: Record<string, { failpoints?: unknown }>;
}

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "idemproof-without-failpoints-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** The target as a stranger's is: the lab starts it, has its database, and cannot look into it. */
async function withoutFailpoints(folder: string): Promise<string> {
  const text = await readFile(join(PROJECT, "targets", folder, "target.yaml"), "utf8");
  const file = parse(text.replaceAll(/(\.\.\/)+dist/g, join(PROJECT, "dist")), { merge: true }) as TargetFile;
  delete file.start.env["FAILPOINTS_URL"];
  for (const operation of Object.values(file.operations)) delete operation.failpoints;
  const path = join(directory, `${folder.replace("/", "-")}.yaml`);
  await writeFile(path, stringify(file, { aliasDuplicateObjects: false }));
  return path;
}

async function runOf(folder: string, scenario: string) {
  const args = ["--only", scenario, "--seed", "1", "--json", "--report-dir", join(directory, "reports")];
  const { code, stdout, stderr } = await idemproof(["run", await withoutFailpoints(folder), ...args]);
  expect(stdout, stderr).not.toBe("");
  const { invariants } = JSON.parse(stdout) as { invariants: { id: string; verdict: string }[] };
  return { code, violated: invariants.filter(({ verdict }) => verdict === "fail").map(({ id }) => id) };
}

const TIMEOUT_MS = 120_000;

test("a success for a commit that failed is found without failpoints", { timeout: TIMEOUT_MS }, async () => {
  const { code, violated } = await runOf("zoo/success-forgotten", "acknowledged-once");
  expect(violated).toContain("acknowledged-effect-exists");
  expect(code).toBe(1);
});

test("a record completed outside of the effect's transaction is found without failpoints", {
  timeout: TIMEOUT_MS,
}, async () => {
  const { code, violated } = await runOf("zoo/record-outside-transaction", "acknowledged-once");
  expect(violated).toContain("acknowledged-effect-exists");
  expect(code).toBe(1);
});

test("the reference is not accused without them", { timeout: TIMEOUT_MS }, async () => {
  expect(await runOf("reference", "acknowledged-once")).toEqual({ code: 0, violated: [] });
});

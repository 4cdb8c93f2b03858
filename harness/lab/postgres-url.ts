/**
 * A PostgreSQL server that is already there: the run has a database of its own on it, under a name that no other
 * has, and the keeper drops it at the end. Nothing else on the server is touched.
 */
import { randomBytes } from "node:crypto";
import { Socket } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { Failure, messageOf } from "../fail.ts";
import { type Keeper, ownEnvironment } from "./keeper.ts";
import type { Postgres, ServiceOptions } from "./postgres.ts";

/** A server across a network may take its time; one that is not there need not be waited for. */
const CONNECT_MS = 10_000;
/** Copying the template takes a second on a slow disk. */
const CREATE_MS = 30_000;
/** What the process that drops the database reads the server's URL from: an argument would be seen by everybody. */
export const SERVER_VARIABLE = "IDEMPROOF_DROP_AT";

export async function postgresOnServer(
  url: string,
  keeper: Keeper,
  logs: string,
  { signal }: ServiceOptions,
): Promise<Postgres> {
  const name = `idemproof_${randomBytes(8).toString("hex")}`;
  const place = placeIn(url);
  signal.throwIfAborted();
  const socket = new Socket();
  const client = clientOf(url, name, socket);
  const abort = (): void => void socket.destroy();
  signal.addEventListener("abort", abort, { once: true });
  try {
    await client.connect();
    // Noted before it is made: a harness that is killed cannot come between.
    await keeper.runAtEnd({
      file: process.execPath,
      args: [fileURLToPath(new URL("./drop-database-process.js", import.meta.url)), name],
      env: { ...ownEnvironment(), [SERVER_VARIABLE]: url },
      log: join(logs, "left-behind.log"),
      otherwise: `the database ${name} at ${place}; there, run: drop database if exists ${name} with (force)`,
    });
    // Sessions on template1 would be in the way of a copy of it.
    await client.query(`create database ${name} template template0`);
    return { url: withDatabase(url, name), mayBeKilled: false };
  } catch (error) {
    signal.throwIfAborted();
    throw new Failure(
      "not-ready",
      `--database: found no use of PostgreSQL at ${place} (${messageOf(error)}), expected a server on which this user may create a database: put the URL right, or leave --database out for a server of the run's own`,
      { cause: error },
    );
  } finally {
    signal.removeEventListener("abort", abort);
    if (!signal.aborted) await client.end().catch(() => undefined);
  }
}

function clientOf(url: string, name: string, socket: Socket): pg.Client {
  const client = new pg.Client({
    connectionString: serverUrl(url),
    stream: () => socket,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: CREATE_MS,
    // By this name the session is found that may still be creating when the database is to be dropped.
    application_name: name,
  });
  client.on("error", () => undefined);
  return client;
}

/** Without a database in the URL, the one that every server has. */
export function serverUrl(url: string): string {
  return new URL(url).pathname.length > 1 ? url : withDatabase(url, "postgres");
}

function withDatabase(url: string, name: string): string {
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own.href;
}

/** Host and port: the rest of the URL may be a secret. */
function placeIn(url: string): string {
  const { hostname, port, searchParams } = new URL(url);
  return `${hostname || (searchParams.get("host") ?? "localhost")}:${port || (searchParams.get("port") ?? "5432")}`;
}

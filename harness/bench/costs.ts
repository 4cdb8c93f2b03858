/**
 * What one request costs in the database, exactly: counted by the server around single requests, one after
 * another, so that no noise touches it. A target's own work in the background falls into some of the counts, and
 * what a request costs is in all of them.
 */
import pg from "pg";
import { messageOf } from "../fail.ts";
import type { Cost } from "./bench-report.ts";
import { median } from "./statistics.ts";

export type Costs = Partial<Record<Cost, number>>;

/** How often each statement was executed, by the server's id of it. */
export type Calls = Readonly<Record<string, number>>;

/** What the server has counted so far. */
interface Counters {
  readonly calls: Calls;
  /** Null: nobody counts them. */
  readonly roundTrips: number | null;
  /** Transactions that wrote: those that read have no number, and nothing to flush. */
  readonly commits: number;
  readonly walBytes: number;
}

/** What the tables hold. Bytes of rows and of index entries, and not of the pages that they lie on. */
interface Sizes {
  readonly rowBytes: number;
  readonly indexBytes: number;
  readonly deadRows: number;
}

const CONNECT_MS = 5_000;

const COUNTERS = `
  select coalesce((
      select json_object_agg(queryid, calls) from (
        select queryid, sum(calls)::float8 as calls from pg_stat_statements
        where dbid = (select oid from pg_database where datname = $1) group by queryid
      ) each
    ), '{}') as calls,
    pg_snapshot_xmax(pg_current_snapshot())::text::float8 as commits,
    (pg_current_wal_insert_lsn() - '0/0')::float8 as wal_bytes`;

const USER_TABLES = `
  select t.oid, t.reltoastrelid from pg_class t join pg_namespace n on n.oid = t.relnamespace
  where t.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema', 'idemproof_costs')`;

const SIZES = `
  with tables as (${USER_TABLES}),
  heaps as (select oid from tables union all select reltoastrelid from tables where reltoastrelid <> 0),
  rows as (
    select sum(r.tuple_len)::float8 as row_bytes, sum(r.dead_tuple_count)::float8 as dead_rows
    from heaps cross join lateral idemproof_costs.pgstattuple(heaps.oid::regclass) r
  ),
  entries as (
    select sum(case when e.leaf_pages > 0 then e.leaf_pages * 8192 * e.avg_leaf_density / 100 else 0 end)::float8 as index_bytes
    from pg_index i join heaps on heaps.oid = i.indrelid
    join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam and m.amname = 'btree'
    cross join lateral idemproof_costs.pgstatindex(i.indexrelid::regclass) e
  )
  select coalesce(row_bytes, 0) as row_bytes, coalesce(dead_rows, 0) as dead_rows, coalesce(index_bytes, 0) as index_bytes
  from rows, entries`;

/** Asks from another database of the server, so that its own statements are not among those it counts. */
export class CostMeter implements AsyncDisposable {
  readonly #counting: pg.Client;
  readonly #sizing: pg.Client;
  readonly #database: string;
  readonly #roundTrips: (() => number) | null;

  private constructor(counting: pg.Client, sizing: pg.Client, database: string, roundTrips: (() => number) | null) {
    this.#counting = counting;
    this.#sizing = sizing;
    this.#database = database;
    this.#roundTrips = roundTrips;
  }

  /** The meter, or why there is none. */
  static async open(url: string, roundTrips: (() => number) | null = null): Promise<CostMeter | string> {
    const own = new URL(url);
    const database = own.pathname.slice(1);
    own.pathname = "/postgres";
    const clients = [own.href, url].map(clientOf);
    const [counting, sizing] = clients;
    if (counting === undefined || sizing === undefined) throw new Error("two clients were made");
    try {
      await Promise.all(clients.map((client) => client.connect()));
      await counting.query("create extension if not exists pg_stat_statements");
      await sizing.query("create schema if not exists idemproof_costs");
      await sizing.query("create extension if not exists pgstattuple schema idemproof_costs");
      const meter = new CostMeter(counting, sizing, database, roundTrips);
      await meter.#counters();
      return meter;
    } catch (error) {
      await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
      return `exact costs were not measured: the database does not count statements (${messageOf(error)}); with --database embedded it does`;
    }
  }

  /** Carries out `request` once for each of `times`, and tells what one of them costs. */
  async measure(times: number, request: () => Promise<void>, before = nothing, after = nothing): Promise<Costs> {
    const counts: Counters[] = [];
    const sizesBefore = await this.#sizes();
    for (let count = 0; count < times; count += 1) {
      await before();
      const start = await this.#counters();
      await request();
      const end = await this.#counters();
      counts.push({
        calls: callsBetween(start.calls, end.calls),
        roundTrips: end.roundTrips === null ? null : end.roundTrips - (start.roundTrips ?? 0),
        commits: end.commits - start.commits,
        walBytes: end.walBytes - start.walBytes,
      });
      await after();
    }
    const sizes = await this.#sizes();
    return {
      statements: ownStatements(counts.map(({ calls }) => calls)),
      ...(this.#roundTrips === null
        ? {}
        : { "round-trips": Math.min(...counts.map(({ roundTrips }) => roundTrips ?? 0)) }),
      commits: Math.min(...counts.map(({ commits }) => commits)),
      "wal-bytes": median(counts.map(({ walBytes }) => walBytes)),
      "row-bytes": perRequest(sizes.rowBytes - sizesBefore.rowBytes, times),
      "index-bytes": perRequest(sizes.indexBytes - sizesBefore.indexBytes, times),
      // PostgreSQL may have swept up behind the updates, and behind earlier ones too.
      "dead-rows": Math.max(0, perRequest(sizes.deadRows - sizesBefore.deadRows, times)),
    };
  }

  async #counters(): Promise<Counters> {
    const { rows } = await this.#counting.query<{ calls: Calls; commits: number; wal_bytes: number }>(COUNTERS, [
      this.#database,
    ]);
    const { calls = {}, commits = 0, wal_bytes: walBytes = 0 } = rows[0] ?? {};
    return { calls, roundTrips: this.#roundTrips?.() ?? null, commits, walBytes };
  }

  async #sizes(): Promise<Sizes> {
    const { rows } = await this.#sizing.query<Record<string, number>>(SIZES);
    const { row_bytes: rowBytes = 0, index_bytes: indexBytes = 0, dead_rows: deadRows = 0 } = rows[0] ?? {};
    return { rowBytes, indexBytes, deadRows };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#counting.end(), this.#sizing.end()].map((end) => end.catch(() => undefined)));
  }
}

/** Does the database keep what it commits through a crash of its machine? Without, a commit costs nothing. */
export async function isDurable(url: string): Promise<boolean> {
  const client = clientOf(url);
  try {
    await client.connect();
    const { rows } = await client.query<{ fsync: string }>("show fsync");
    return rows[0]?.fsync === "on";
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function nothing(): Promise<void> {}

function clientOf(url: string): pg.Client {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
  client.on("error", () => undefined);
  return client;
}

export function callsBetween(start: Calls, end: Calls): Calls {
  const more = Object.entries(end).map(([id, calls]) => [id, calls - (start[id] ?? 0)] as const);
  return Object.fromEntries(more.filter(([, calls]) => calls > 0));
}

/** Of each statement as many as the request with the fewest of them: what is in the background is not in all. */
export function ownStatements(requests: readonly Calls[]): number {
  const ids = new Set(requests.flatMap((calls) => Object.keys(calls)));
  return [...ids].reduce((sum, id) => sum + Math.min(...requests.map((calls) => calls[id] ?? 0)), 0);
}

/** To a hundredth. Below zero when the target's own cleanup took more away than came. */
function perRequest(total: number, requests: number): number {
  return Math.round((total / requests) * 100) / 100;
}

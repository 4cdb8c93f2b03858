/**
 * The tables that a target's key records lie in, as PostgreSQL knows them: which ones the query of `records`
 * reads, how many bytes they take on disk, how many rows they hold. A partition is a table of its own.
 */
import pg from "pg";
import { Failure, messageOf } from "../fail.ts";

/** Bytes of a table: its rows, what was too long for a row and lies aside (TOAST), and its indexes. */
export interface Bytes {
  readonly row: number;
  readonly toast: number;
  readonly index: number;
}

export interface Held extends Bytes {
  /** Live rows. */
  readonly rows: number;
}

/** By the table's id. */
export type Tables = ReadonlyMap<number, Held>;

export interface Rehearsal {
  readonly ms: number;
  /** Records that were added, and those of them that the query of the target file shows with their prefix. */
  readonly added: number;
  readonly found: number;
}

const CONNECT_MS = 5_000;
const TRIES = 5;
const NOTHING: Held = { rows: 0, row: 0, toast: 0, index: 0 };

/** A view's dependences say what a query reads, through other views, too. */
const READ_TABLES = `
  with recursive looked_at as (
    select 'idemproof_records'::regclass::oid as id
    union
    select d.refobjid from looked_at
    join pg_rewrite r on r.ev_class = looked_at.id
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
  )
  select c.oid::int as id, c.oid::regclass::text as name
  from looked_at join pg_class c on c.oid = looked_at.id
  where c.relkind in ('r', 'p') order by name`;

/** Of $1 and their partitions, those that hold rows. */
const STORED = `
  select c.oid, c.reltoastrelid as toast, c.reloptions
  from unnest($1::oid[]) root
  cross join lateral (select root as id union select relid from pg_partition_tree(root)) part
  join pg_class c on c.oid = part.id
  where c.relkind = 'r'`;

/**
 * Rows with their item pointers, to eight bytes, as pages hold them that are full: of few records, spread over as many
 * pages as there are sessions, the pages themselves would say little. Rows that are dead are bloat, and not in this.
 * An index is its pages, all but the first: that one describes it, and is there before any row is.
 */
const HELD = `
  with stored as (${STORED}),
  heaps as (
    select h.oid, r.tuple_count as rows, (r.tuple_len + 8 * r.tuple_count) * b.size / (b.size - 24) as bytes
    from (select oid from stored union all select toast from stored where toast <> 0) h
    cross join lateral idemproof_costs.pgstattuple(h.oid::regclass) r
    cross join (select current_setting('block_size')::float8 as size) b
  ),
  indexes as (
    select indrelid as oid, sum(greatest(0, pg_relation_size(indexrelid) - current_setting('block_size')::int)) as bytes
    from pg_index group by indrelid
  )
  select s.oid::int as id, row.rows::float8 as rows, row.bytes::float8 as row, coalesce(i.bytes, 0)::float8 as index,
    (coalesce(aside.bytes, 0) + coalesce(ti.bytes, 0))::float8 as toast
  from stored s join heaps row on row.oid = s.oid left join indexes i on i.oid = s.oid
  left join heaps aside on aside.oid = s.toast left join indexes ti on ti.oid = s.toast`;

/** Main forks only: the maps of free space and of visibility are a thousandth of a table, and a page at least. */
const FILES = `
  select coalesce(sum(pg_relation_size(f.oid)), 0)::float8 as bytes
  from (${STORED}) s
  cross join lateral (
    select s.oid union all select nullif(s.toast, 0) union all
    select indexrelid from pg_index where indrelid in (s.oid, s.toast)
  ) f(oid)`;

const LIVE_ROWS = `select coalesce(sum(pg_stat_get_live_tuples(s.oid)), 0)::float8 as rows from (${STORED}) s`;

/** The table's own word, or the server's. */
const DEAD_SHARE = `
  select max(coalesce(
    (select option_value from pg_options_to_table(s.reloptions) where option_name = 'autovacuum_vacuum_scale_factor'),
    current_setting('autovacuum_vacuum_scale_factor'))::float8) as share
  from (${STORED}) s`;

export class RecordTables implements AsyncDisposable {
  readonly #client: pg.Client;
  readonly #records: string;
  readonly #ids: readonly number[];
  readonly names: readonly string[];

  private constructor(client: pg.Client, records: string, tables: readonly { id: number; name: string }[]) {
    this.#client = client;
    this.#records = records;
    this.#ids = tables.map(({ id }) => id);
    this.names = tables.map(({ name }) => name);
  }

  /** `records` is the query of the target file. Throws a `Failure` when the database cannot be reached. */
  static async open(url: string, records: string): Promise<RecordTables> {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
    // A connection that breaks is reported by the next query.
    client.on("error", () => undefined);
    try {
      await client.connect();
    } catch (error) {
      await client.end().catch(() => undefined);
      const message = `the database of the key records cannot be reached at ${new URL(url).host} (${messageOf(error)})`;
      throw new Failure("not-ready", message, { cause: error });
    }
    try {
      const query = records.replace(/[;\s]+$/, "");
      await client.query("create schema if not exists idemproof_costs");
      await client.query("create extension if not exists pgstattuple schema idemproof_costs");
      await client.query(`create temporary view idemproof_records as ${query}`);
      const { rows } = await client.query<{ id: number; name: string }>(READ_TABLES);
      await client.query("drop view idemproof_records");
      return new RecordTables(client, query, rows);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  }

  /** Looks again when a partition was dropped under it. */
  async held(): Promise<Tables> {
    for (let tries = 1; ; tries += 1) {
      try {
        const { rows } = await this.#query<Held & { id: number }>(HELD, [this.#ids]);
        return new Map(rows.map(({ id, ...held }) => [id, held]));
      } catch (error) {
        if (!(error instanceof pg.DatabaseError) || tries === TRIES) throw error;
      }
    }
  }

  /** Of all files, also those in which nothing is. */
  async fileBytes(): Promise<number> {
    const { rows } = await this.#query<{ bytes: number }>(FILES, [this.#ids]);
    return rows[0]?.bytes ?? 0;
  }

  /** As PostgreSQL keeps count of rows that came and went: free of charge, and a second late. */
  async liveRows(): Promise<number> {
    const { rows } = await this.#query<{ rows: number }>(LIVE_ROWS, [this.#ids]);
    return rows[0]?.rows ?? 0;
  }

  /** Of the rows, so many may be dead before PostgreSQL sweeps up by itself. */
  async deadShare(): Promise<number> {
    const { rows } = await this.#query<{ share: number | null }>(DEAD_SHARE, [this.#ids]);
    return rows[0]?.share ?? 0;
  }

  /** How many of these keys are there. */
  async countOf(keys: readonly string[]): Promise<number> {
    return this.#count("key::text = any($1)", keys);
  }

  /** How many keys are there that begin like this. Reads all of the table. */
  async countFrom(prefix: string): Promise<number> {
    return this.#count("starts_with(key::text, $1)", prefix);
  }

  async #count(condition: string, value: unknown): Promise<number> {
    const query = `select count(*)::float8 as count from (${this.#records}) records where ${condition}`;
    const { rows } = await this.#query<{ count: number }>(query, [value]);
    return rows[0]?.count ?? 0;
  }

  /**
   * Makes the room of dead rows usable again. The end of the file is kept, as it is in production, where newer
   * records lie there; taken away, it would look as if deleting made a table smaller.
   */
  async vacuum(): Promise<void> {
    for (const name of this.names) await this.#query(`vacuum (truncate off) ${name}`);
  }

  /** What PostgreSQL refuses is thrown as it is; without a connection there is no more to be measured. */
  async #query<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<pg.QueryResult<Row>> {
    try {
      return await this.#client.query<Row>(text, [...values]);
    } catch (error) {
      if (error instanceof pg.DatabaseError) throw error;
      throw new Failure("target-lost", `the database of the key records went away (${messageOf(error)})`, {
        cause: error,
      });
    }
  }

  /** Carries out a statement that adds records; gives their number. */
  async add(statement: string): Promise<number> {
    return (await this.#query(statement)).rowCount ?? 0;
  }

  /** The same, and takes it back. Tells what came of it, as long as it was there. */
  async rehearse(statement: string, prefix: string): Promise<Rehearsal> {
    await this.#query("begin");
    try {
      const began = performance.now();
      const added = await this.add(statement);
      const ms = performance.now() - began;
      return { ms, added, found: await this.countFrom(prefix) };
    } finally {
      await this.#query("rollback");
    }
  }

  /** What was added lies on disk, and PostgreSQL knows how much it is: whoever comes next does not pay for it. */
  async settle(): Promise<void> {
    for (const name of this.names) await this.#query(`vacuum (analyze) ${name}`);
    // A user that may not ask for a checkpoint has it a little later.
    await this.#client.query("checkpoint").catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end().catch(() => undefined);
  }
}

export function sumOf(tables: Tables): Held {
  return [...tables.values()].reduce(
    (sum, { rows, row, toast, index }) => ({
      rows: sum.rows + rows,
      row: sum.row + row,
      toast: sum.toast + toast,
      index: sum.index + index,
    }),
    NOTHING,
  );
}

/** What came to the indexes of tables that hold rows; one that was dropped, or that is made ahead and empty, says nothing. */
export function indexGrowth(before: Tables, after: Tables): number {
  return [...after]
    .filter(([, { rows }]) => rows > 0)
    .reduce((sum, [id, { index }]) => sum + index - (before.get(id) ?? NOTHING).index, 0);
}

/** Reads the target's books from its own database, on a connection of our own. */
import { Socket } from "node:net";
import pg from "pg";
import { Failure, messageOf } from "../fail.ts";
import type { Reading, Row } from "./books.ts";

/** Rows are fetched in parts, so that a query without bounds fails in words instead of filling the memory. */
const FIRST_FETCH_ROWS = 100;
const FETCH_ROWS_MAX = 5_000;
const FETCH_CHARACTERS = 4 * 1024 * 1024;
const BOOKS_ROWS_MAX = 200_000;
const BOOKS_CHARACTERS_MAX = 64 * 1024 * 1024;

/**
 * Reads only, and all of them as of one moment: what is completed between two readings would be in one of the books
 * and not in the other.
 */
export async function readSql(
  url: string,
  queries: readonly string[],
  signal: AbortSignal,
  timeoutMs: number,
): Promise<readonly Reading[]> {
  signal.throwIfAborted();
  const socket = new Socket();
  const client = new pg.Client({
    connectionString: url,
    stream: () => socket,
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    query_timeout: timeoutMs + 500,
    application_name: "idemproof books",
  });
  // A connection that breaks between two queries is reported by the next query.
  client.on("error", () => undefined);
  // Whether it is still connecting or waits for rows, without its socket it does neither.
  const abort = (): void => void socket.destroy();
  signal.addEventListener("abort", abort, { once: true });
  try {
    await client.connect();
    await client.query("begin isolation level repeatable read read only");
    const readings: Reading[] = [];
    for (const [index, sql] of queries.entries()) {
      try {
        readings.push(await fetchAll(client, sql));
      } catch (error) {
        throw new QueryFailed(index, error);
      }
    }
    return readings;
  } finally {
    signal.removeEventListener("abort", abort);
    if (!signal.aborted) await client.end().catch(() => undefined);
  }
}

/** One of the queries, by its number, and not the connection. */
export class QueryFailed extends Error {
  readonly index: number;

  constructor(index: number, cause: unknown) {
    super(messageOf(cause), { cause });
    this.index = index;
  }
}

async function fetchAll(client: pg.Client, sql: string): Promise<Reading> {
  // One statement, whatever the text holds: the extended protocol refuses several.
  await client.query({
    text: `declare books no scroll cursor for ${sql.replace(/[;\s]+$/, "")}`,
    queryMode: "extended",
  } as pg.QueryConfig);
  const rows: Row[] = [];
  let characters = 0;
  for (let size = FIRST_FETCH_ROWS; ; ) {
    const part = await client.query<Row>(`fetch forward ${size} from books`);
    rows.push(...part.rows);
    const fetched = JSON.stringify(part.rows).length;
    characters += fetched;
    if (rows.length > BOOKS_ROWS_MAX || characters > BOOKS_CHARACTERS_MAX) {
      throw new Failure(
        "not-ready",
        `found more than ${BOOKS_ROWS_MAX} rows or ${BOOKS_CHARACTERS_MAX} characters, expected a query that reads the last hours only`,
      );
    }
    if (part.rows.length < size) {
      await client.query("close books");
      return { columns: part.fields.map(({ name }) => name), rows };
    }
    size = Math.max(1, Math.min(FETCH_ROWS_MAX, Math.floor((FETCH_CHARACTERS * size) / fetched)));
  }
}

/** Reads the target's books from its own database, on a connection of our own. */
import pg from "pg";
import type { Row } from "./books.ts";

const STATEMENT_MS = 10_000;

export async function readSql(url: string, sql: string): Promise<readonly Row[]> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: STATEMENT_MS,
    statement_timeout: STATEMENT_MS,
    query_timeout: STATEMENT_MS + 1_000,
    application_name: "idemproof books",
  });
  // A connection that breaks between two queries is reported by the next query.
  client.on("error", () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<Row>(sql);
    return rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * An order API with its key records in PostgreSQL, as small as can be, for tests of what a bench says of storage and
 * cleanup. From the environment: PADDING (bytes beside each record), RETENTION_MS, BATCH_ROWS (of the cleanup; 0:
 * no bound). Says on its output how many records each of its deletes removed.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

const { PORT, DATABASE_URL, PADDING = "0", RETENTION_MS = "3000", BATCH_ROWS = "0" } = process.env;
const CLEAN_UP_EVERY_MS = 100;

const pool = new pg.Pool({ connectionString: DATABASE_URL });
pool.on("error", () => undefined);
await pool.query(`
  create table if not exists ledger (operation text not null);
  create table if not exists keys (key text primary key, state text not null, padding text not null, answer text, expires_at timestamptz);
  create index if not exists keys_expires_at on keys (expires_at);
  create or replace function key_states() returns table (key text, state text) language plpgsql
    as 'begin return query select keys.key, keys.state from keys; end';`);

const INSERT = `
  insert into keys (key, state, padding, expires_at)
  values ($1, 'open', repeat('x', $2), clock_timestamp() + $3 * interval '1 ms')
  on conflict do nothing returning key`;

const CLEAN_UP = `
  delete from keys where key = any(array(
    select key from keys where expires_at <= clock_timestamp() order by expires_at limit nullif($1::int, 0)))`;

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") {
    const { rows } = await pool.query("select key, state from keys");
    return send(response, 200, JSON.stringify(rows));
  }
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  const { reference, note = "" } = JSON.parse(text) as { reference: string; note?: string };
  const key = request.headers["idempotency-key"];
  if (typeof key !== "string") return send(response, 400, "{}");
  const { rowCount } = await pool.query(INSERT, [key, Number(PADDING), Number(RETENTION_MS)]);
  if (rowCount === 0) return replay(response, key);
  const answer = JSON.stringify({ reference, note });
  await pool.query("insert into ledger values ($1)", [reference]);
  await pool.query("update keys set state = 'completed', answer = $2 where key = $1", [key, answer]);
  send(response, 201, answer);
}

async function replay(response: ServerResponse, key: string): Promise<void> {
  const { rows } = await pool.query<{ answer: string | null }>("select answer from keys where key = $1", [key]);
  const answer = rows[0]?.answer ?? null;
  if (answer === null) send(response, 409, "{}");
  else send(response, 201, answer, { "idempotency-replayed": "true" });
}

function send(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(text);
}

const server = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => send(response, 500, JSON.stringify({ error: String(error) })));
});
server.listen(Number(PORT), "127.0.0.1");

for (;;) {
  const { rowCount } = await pool.query(CLEAN_UP, [Number(BATCH_ROWS)]);
  if (rowCount) console.error(`removed ${rowCount}`);
  else await sleep(CLEAN_UP_EVERY_MS);
}

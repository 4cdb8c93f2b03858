/**
 * The orders that every third-party target takes: one business code for all of them, so that they differ in
 * nothing but their key layer. It imports no package; each target brings its own.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const CALLERS = { "Bearer alice-token": "alice", "Bearer bob-token": "bob" };
/** Asynchronous work before every effect, as a call of another service would be. */
const WORK_MS = 20;
/** Longest work that a header can ask for. */
const WORK_MS_MAX = 10_000;
const TEXT_CHARACTERS_MAX = 200;
/** Any number that nothing else in the database uses for an advisory lock. */
const TABLE_LOCK = 7_229_100_412;

const TABLE = `
  create table if not exists ledger (
    id bigint generated always as identity primary key,
    kind text not null,
    caller text not null,
    reference text not null,
    amount numeric not null,
    currency text not null,
    item text not null,
    created_at timestamptz not null default clock_timestamp()
  )`;

const INSERT = `
  insert into ledger (kind, caller, reference, amount, currency, item)
  values ($1, $2, $3, $4, $5, $6)
  returning id`;

/** What is answered with a status of its own. */
export class Problem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Makes the table once, also when replicas start together. */
export async function createLedger(pool) {
  const client = await pool.connect();
  try {
    await client.query("begin");
    // `if not exists` alone fails when two sessions look at the same moment.
    await client.query("select pg_advisory_xact_lock($1)", [TABLE_LOCK]);
    await client.query(TABLE);
    await client.query("commit");
  } finally {
    client.release();
  }
}

/** Who sends the request. Throws a 401. */
export function callerOf(headers) {
  const caller = CALLERS[headers.authorization];
  if (caller === undefined) throw new Problem(401, "the bearer token is missing or unknown");
  return caller;
}

/** The whole operation: checks the body, works, writes one row. Returns what the client is answered with 201. */
export async function placeOrder(pool, kind, caller, headers, body) {
  const order = orderOf(body);
  if (headers["lab-fail"] === "before-effect") throw new Problem(503, "the lab asked for a failure before any effect");
  await sleep(Math.min(Number(headers["lab-work-ms"]) || WORK_MS, WORK_MS_MAX));
  const { amount, currency, item, reference } = order;
  const { rows } = await pool.query(INSERT, [kind, caller, reference, amount, currency, item]);
  // The receipt makes two executions tell themselves apart even where their rows would not.
  return { id: rows[0].id, kind, amount, currency, item, reference, receipt: randomUUID() };
}

function orderOf(body) {
  const { amount, currency = "usd", item = "unspecified", reference } = body ?? {};
  if (!Number.isSafeInteger(amount) || amount <= 0) throw new Problem(400, "amount is a positive whole number");
  if (typeof currency !== "string" || !/^[a-z]{3}$/.test(currency)) {
    throw new Problem(400, "currency is a three-letter code in lower case");
  }
  for (const text of [item, reference]) {
    if (typeof text !== "string" || text === "" || text.length > TEXT_CHARACTERS_MAX) {
      throw new Problem(400, `item and reference are texts of 1 to ${TEXT_CHARACTERS_MAX} characters`);
    }
  }
  return { amount, currency, item, reference };
}

/** Tells the lab when a request had arrived in full and when its answer left. Express middleware. */
export function tellArrival(_request, response, next) {
  const arrivedAt = process.hrtime.bigint();
  const writeHead = response.writeHead;
  response.writeHead = (...head) => {
    response.setHeader("lab-arrived-micros", String(arrivedAt / 1000n));
    response.setHeader("lab-answered-micros", String(process.hrtime.bigint() / 1000n));
    return writeHead.apply(response, head);
  };
  next();
}

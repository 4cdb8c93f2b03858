/**
 * @node-idempotency/core with its Redis adapter, used as its README shows: `onRequest` before the handler,
 * its answer sent where there is one, `onResponse` when the handler is done, also when it failed. The
 * statuses of its errors are those that its author's own plugins answer.
 */
import { Idempotency, IdempotencyError } from "@node-idempotency/core";
import { RedisStorageAdapter } from "@node-idempotency/storage-adapter-redis";
import express from "express";
import pg from "pg";
import { callerOf, createLedger, placeOrder, tellArrival } from "../orders.mjs";

const { PORT, DATABASE_URL, REDIS_URL, RETENTION_MS } = process.env;

const STATUSES = {
  IDEMPOTENCY_FINGERPRINT_MISSMATCH: 422,
  IDEMPOTENCY_KEY_LEN_EXEEDED: 400,
  IDEMPOTENCY_KEY_MISSING: 400,
  REQUEST_IN_PROGRESS: 409,
};

const pool = new pg.Pool({ connectionString: DATABASE_URL });
await createLedger(pool);
const storage = new RedisStorageAdapter({ url: REDIS_URL });
await storage.connect();
const idempotency = new Idempotency(storage, { enforceIdempotency: true, cacheTTLMS: Number(RETENTION_MS) });

const app = express();
app.get("/health", (_request, response) => response.send("ok"));
app.use(express.json(), tellArrival);
app.post("/orders", handle("order"));
app.post("/refunds", handle("refund"));
// For the bench: the same orders without the library.
app.post("/baseline/orders", withoutKeys("order"));
app.post("/baseline/refunds", withoutKeys("refund"));

app.use((error, _request, response, _next) => {
  const status = error instanceof IdempotencyError ? STATUSES[error.code] : (error.status ?? 500);
  response.status(status).json({ error: error.message });
});

function handle(kind) {
  return async (request, response) => {
    const caller = callerOf(request.headers);
    const { method, originalUrl: path, headers, body } = request;
    const keyed = { method, path, headers, body };
    const stored = await idempotency.onRequest(keyed);
    const answer = stored ?? (await execute(kind, caller, headers, body));
    if (stored === undefined) await idempotency.onResponse(keyed, answer);
    response.status(answer.additional.status).json(answer.body ?? answer.error);
  };
}

function withoutKeys(kind) {
  return async ({ headers, body }, response) => {
    const answer = await execute(kind, callerOf(headers), headers, body);
    response.status(answer.additional.status).json(answer.body ?? answer.error);
  };
}

/** The answer in the shape that the library stores. */
async function execute(kind, caller, headers, body) {
  try {
    return { additional: { status: 201 }, body: await placeOrder(pool, kind, caller, headers, body) };
  } catch (error) {
    return { additional: { status: error.status ?? 500 }, error: { error: error.message } };
  }
}

const server = app.listen(Number(PORT), "127.0.0.1");

async function close() {
  server.close();
  server.closeAllConnections();
  await Promise.all([storage.disconnect(), pool.end()]);
}
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, close);

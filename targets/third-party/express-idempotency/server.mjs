/**
 * express-idempotency with its Redis adapter, used as both READMEs show: the body parser first, the
 * middleware for every POST, `isHit` at the head of the handler, `reportError` where the handler fails.
 */
import express from "express";
import { getSharedIdempotencyService, idempotency } from "express-idempotency";
import redisAdapter from "express-idempotency-redis-adapter";
import pg from "pg";
import { callerOf, createLedger, placeOrder, tellArrival } from "../orders.mjs";

const { PORT, DATABASE_URL, REDIS_URL, RETENTION_SECONDS } = process.env;

const pool = new pg.Pool({ connectionString: DATABASE_URL });
await createLedger(pool);
const dataAdapter = new redisAdapter.default({
  connectionConfig: { url: REDIS_URL },
  ttl: Number(RETENTION_SECONDS),
});
await dataAdapter.connect();

const app = express();
app.get("/health", (_request, response) => response.send("ok"));
app.use(express.json(), tellArrival, (request, response, next) => {
  response.locals.caller = callerOf(request.headers);
  next();
});
// For the bench: the same orders, before the middleware is reached.
app.post("/baseline/orders", withoutKeys("order"));
app.post("/baseline/refunds", withoutKeys("refund"));
app.post("*", idempotency({ dataAdapter }));
app.post("/orders", handle("order"));
app.post("/refunds", handle("refund"));

// The middleware reports a conflict or a misuse as an error, with the status set on the response.
app.use((error, _request, response, _next) => {
  const status = error.status ?? (response.statusCode >= 400 ? response.statusCode : 500);
  response.status(status).json({ error: error.message });
});

function handle(kind) {
  return async (request, response, next) => {
    const service = getSharedIdempotencyService();
    if (service.isHit(request)) return;
    try {
      const answer = await placeOrder(pool, kind, response.locals.caller, request.headers, request.body);
      response.status(201).json(answer);
    } catch (error) {
      if (request.get("Idempotency-Key")) await service.reportError(request);
      next(error);
    }
  };
}

function withoutKeys(kind) {
  return async (request, response, next) => {
    try {
      const answer = await placeOrder(pool, kind, response.locals.caller, request.headers, request.body);
      response.status(201).json(answer);
    } catch (error) {
      next(error);
    }
  };
}

const server = app.listen(Number(PORT), "127.0.0.1");

async function close() {
  server.close();
  server.closeAllConnections();
  await Promise.all([dataAdapter.disconnect(), pool.end()]);
}
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, close);

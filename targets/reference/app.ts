/** Builds the service; `server.ts` listens. */
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import type { Pool } from "pg";
import { authenticate } from "./auth.ts";
import { registerBaseline } from "./baseline.ts";
import { registerCharges } from "./charges/routes.ts";
import { closeGracefully } from "./closing.ts";
import { openFailpoints } from "./failpoints.ts";
import type { FingerprintVersion } from "./idempotency/fingerprint.ts";
import { idempotency, type Steps, type Way } from "./idempotency/plugin.ts";
import { PROBLEM_TYPE, Problem, problemBody } from "./idempotency/problem.ts";
import { parseJson } from "./json.ts";
import { labNote, labWorkMs, openLab } from "./lab.ts";
import { registerOrders } from "./orders/routes.ts";
import type { Processor } from "./processor/exchange.ts";
import type { KeyStore } from "./settings.ts";

export interface AppOptions {
  readonly pool: Pool;
  readonly callers: Readonly<Record<string, string>>;
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly cleanUpEveryMs: number;
  /** How long every handler works before its effect, in milliseconds. */
  readonly workMs: number;
  /** Lets single requests ask for delays and failures. Never in production. */
  readonly lab: boolean;
  /** Where the lab is asked at failpoints; null: nowhere. */
  readonly failpointsUrl: string | null;
  readonly replica: string;
  /** Null: no charges. */
  readonly processorUrl: string | null;
  readonly processorTimeoutMs: number;
  readonly reconcileTries: number;
  readonly keyStore: KeyStore;
  readonly fingerprintVersion?: FingerprintVersion;
  /** Of orders and refunds; a charge calls somebody else, and can only have two transactions. */
  readonly way: Way;
  readonly http2: boolean;
  readonly steps?: Partial<Steps>;
  readonly logLevel?: "warn" | "silent";
}

/** An order is small; anything larger is a mistake or an attack. */
const BODY_BYTES_MAX = 64 * 1024;

export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { pool, lab } = options;
  const settings = { bodyLimit: BODY_BYTES_MAX, logger: { level: options.logLevel ?? "warn" } };
  // The two kinds of server have types of their own; routes and hooks are the same. To close by force is to
  // cut what is in flight over HTTP/1.1, and to let it finish over HTTP/2.
  const app = (options.http2
    ? Fastify({ ...settings, http2: true, forceCloseConnections: true })
    : Fastify({ ...settings, forceCloseConnections: "idle" })) as unknown as FastifyInstance;

  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, async (_request: unknown, body: Buffer) =>
    parseJson(body),
  );

  app.setErrorHandler<Error & { statusCode?: number }>((error, request, reply) => {
    const problem = error instanceof Problem ? error : asProblem(error);
    if (problem.statusCode >= 500) request.log.error(error);
    return reply
      .code(problem.statusCode)
      .headers({ "content-type": PROBLEM_TYPE, ...problem.headers })
      .send(problemBody(problem));
  });

  app.setNotFoundHandler(async ({ method }) => {
    throw new Problem(404, "not-found", `There is nothing here that answers to ${method}`);
  });

  closeGracefully(app);
  if (lab) openLab(app);
  if (lab && options.failpointsUrl !== null) {
    openFailpoints(app, { url: options.failpointsUrl, replica: options.replica });
  }
  authenticate(app, options.callers);
  const { leaseMs, retentionMs, cleanUpEveryMs, fingerprintVersion = 1, steps, reconcileTries } = options;
  const processor = processorOf(options);
  await app.register(idempotency, {
    pool,
    leaseMs,
    retentionMs,
    cleanUpEveryMs,
    fingerprintVersion,
    processor,
    ...(steps ? { steps } : {}),
  });
  const workMs = ({ headers }: FastifyRequest): number => options.workMs + (lab ? labWorkMs(headers) : 0);
  const note = ({ headers }: FastifyRequest): string => (lab ? labNote(headers) : "");
  registerOrders(app, { pool, workMs, way: options.way, note });
  if (processor !== null) registerCharges(app, { pool, workMs, reconcileTries });
  if (lab) registerBaseline(app, { pool, workMs, processor });
  app.get("/health", async () => {
    await pool.query("select 1");
    return { ok: true };
  });
  return app;
}

/**
 * Without one there are no charges. Nor are there any with partitioned keys: a partition is dropped when its
 * time is over, whatever is in it, and a key whose outcome is open has to outlive its retention.
 */
function processorOf({ processorUrl: url, processorTimeoutMs: timeoutMs, keyStore }: AppOptions): Processor | null {
  return url === null || keyStore === "partitioned" ? null : { url, timeoutMs };
}

function asProblem({ statusCode = 500, message }: Error & { statusCode?: number }): Problem {
  return statusCode < 500
    ? new Problem(statusCode, "bad-request", message)
    : new Problem(500, "internal-error", "The request failed");
}

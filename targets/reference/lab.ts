/**
 * What only the lab may do: ask a single request to be slow or to fail, and see when it arrived. Registered
 * by `server.ts` when LAB is set; production never sets it.
 */
import type { FastifyInstance } from "fastify";
import { Problem } from "./idempotency/problem.ts";

declare module "fastify" {
  interface FastifyRequest {
    arrivedAt: bigint;
  }
}

/** Longest delay that a header can ask for. */
const WORK_MS_MAX = 10_000;

export function openLab(app: FastifyInstance): void {
  app.decorateRequest("arrivedAt", 0n);
  // Once the body is there: a burst may hold back its last byte long after the headers came.
  app.addHook("preValidation", async (request) => {
    request.arrivedAt = process.hrtime.bigint();
  });
  app.addHook("onSend", async (request, reply) => {
    reply.header("lab-arrived-micros", String(request.arrivedAt / 1000n));
    reply.header("lab-answered-micros", String(process.hrtime.bigint() / 1000n));
  });
}

/** The delay that a request asks for, in milliseconds. Throws when it asks to fail. */
export function labWorkMs(headers: Readonly<Record<string, unknown>>): number {
  if (headers["lab-fail"] === "before-effect") {
    throw new Problem(503, "unavailable", "The lab asked for a failure before any effect");
  }
  return Math.min(Number(headers["lab-work-ms"] ?? 0) || 0, WORK_MS_MAX);
}

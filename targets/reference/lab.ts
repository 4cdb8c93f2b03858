/**
 * What only the lab may do: ask a single request to be slow, to fail or to have a large answer, and see when it arrived. Registered
 * by `server.ts` when LAB is set; production never sets it.
 */
import { randomUUID } from "node:crypto";
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

/** So that storage can be measured with large answers; far beyond what an order is told. */
const ANSWER_BYTES_MAX = 256 * 1024;

/** As many bytes as a request asks to have in its answer: identifiers, which compress as little as a real answer's. */
export function labNote(headers: Readonly<Record<string, unknown>>): string {
  const bytes = Math.min(Number(headers["lab-answer-bytes"] ?? 0) || 0, ANSWER_BYTES_MAX);
  return Array.from({ length: Math.ceil(bytes / UUID_CHARACTERS) }, () => randomUUID())
    .join("")
    .slice(0, bytes);
}

const UUID_CHARACTERS = 36;

/** The delay that a request asks for, in milliseconds. Throws when it asks to fail. */
export function labWorkMs(headers: Readonly<Record<string, unknown>>): number {
  if (headers["lab-fail"] === "before-effect") {
    throw new Problem(503, "unavailable", "The lab asked for a failure before any effect");
  }
  return Math.min(Number(headers["lab-work-ms"] ?? 0) || 0, WORK_MS_MAX);
}

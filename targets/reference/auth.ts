/** Who is calling: a bearer token from a fixed list. Stands in for whatever a real service uses. */
import type { FastifyInstance } from "fastify";
import { Problem } from "./idempotency/problem.ts";

export function authenticate(app: FastifyInstance, callers: Readonly<Record<string, string>>): void {
  app.decorateRequest("caller", "");
  app.addHook("onRequest", async (request) => {
    const { idempotency, isBaseline } = request.routeOptions.config;
    if (idempotency === undefined && !isBaseline) return;
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const caller = Object.hasOwn(callers, token) ? callers[token] : undefined;
    if (caller === undefined) throw new Problem(401, "unauthenticated", "A known bearer token is needed");
    request.caller = caller;
  });
}

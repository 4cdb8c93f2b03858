/**
 * Defect: the effective key is made of route and key, and the caller is left out. Whoever sends a key that
 * another caller has used gets that caller's answer, and no effect of their own.
 *
 * In the wild: layers that run before authentication, or that were written for one client and then served
 * many; documented as a hazard even by a large vendor, for users of one account.
 *
 * Why it looks right: clients are told to send random UUIDs, and those do not collide. Keys that are order
 * numbers do, and keys that can be guessed are a way to read other people's answers.
 */
import type { FastifyRequest } from "fastify";
import { scopeOf } from "../../reference/idempotency/plugin.ts";
import { serve } from "../../reference/serve.ts";

/** The reference's scope without its first part. */
function placeOf(request: FastifyRequest): string {
  const [, ...place] = JSON.parse(scopeOf(request)) as [caller: string, ...place: string[]];
  return JSON.stringify(place);
}

await serve({ scopeOf: placeOf });

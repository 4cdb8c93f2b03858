/** What the simulated server reads in a request: the effective key, the fingerprint, and what the lab asks of it. */
import type { HttpRequest } from "../operation.ts";
import type { Behaviour } from "./simulated-defects.ts";
import { canonicalBody, ORDER_FIELDS, type Order, orderOf } from "./simulated-order.ts";
import type { KeyIdentity } from "./simulated-store.ts";

const KEY_CHARACTERS_MAX = 255;
const CUT_KEY_CHARACTERS = 40;

/** A request as the key layer sees it. */
export interface Work extends KeyIdentity {
  readonly request: HttpRequest;
  readonly fingerprint: string;
  /** Null: the body is not an order. */
  readonly order: Order | null;
  /** Nobody waits for the answer any more. */
  readonly isHungUp: () => boolean;
}

export function workOf(request: HttpRequest, sentKey: string, isHungUp: () => boolean, behaviour: Behaviour): Work {
  const order = orderOf(request.body);
  return {
    request,
    order,
    isHungUp,
    key: keptKey(sentKey, behaviour),
    scope: scopeOf(request, behaviour),
    fingerprint: fingerprintOf(request.body, order, behaviour),
  };
}

/** Without the space around it, which is no part of a field's value (RFC 9110 section 5.5). */
export function sentKeyOf({ headers }: HttpRequest): string | null {
  return headers["idempotency-key"]?.replace(/^[ \t]+|[ \t]+$/g, "") ?? null;
}

export function isWellFormed(key: string): boolean {
  return /^[\x21-\x7e]+$/.test(key) && key.length <= KEY_CHARACTERS_MAX;
}

export function failsOnPurpose({ headers }: HttpRequest): boolean {
  return headers["lab-fail"] === "before-effect";
}

/** How much longer than usual the lab wants the handler to take. */
export function slownessMs({ headers }: HttpRequest): number {
  return Number(headers["lab-work-ms"] ?? 0);
}

function keptKey(sent: string, behaviour: Behaviour): string {
  const kept = behaviour.has("keys-cut") ? sent.slice(0, CUT_KEY_CHARACTERS) : sent;
  return behaviour.has("keys-without-case") ? kept.toLowerCase() : kept;
}

function scopeOf({ method, path, headers }: HttpRequest, behaviour: Behaviour): string {
  const [route = "", query = ""] = path.split("?");
  return JSON.stringify([
    behaviour.has("scope-without-caller") ? "" : headers["authorization"],
    behaviour.has("scope-without-endpoint") ? "" : `${method} ${route}`,
    behaviour.has("scope-without-query") ? "" : query,
  ]);
}

function fingerprintOf(body: string, order: Order | null, behaviour: Behaviour): string {
  if (behaviour.has("no-fingerprint")) return "";
  if (behaviour.has("fingerprint-of-bytes")) return body;
  if (order === null) return canonicalBody(body);
  const fields = ORDER_FIELDS.filter((field) => !behaviour.has(`fingerprint-without-${field}`));
  return JSON.stringify(fields.map((field) => order[field]));
}

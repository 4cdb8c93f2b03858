/**
 * The processor: what a payment provider is to the target. It keeps its own books, honours idempotency keys
 * (or ignores them, when told at its start), answers a status query by the caller's own key, and misbehaves
 * for single references when the lab says so.
 *
 *   POST /charges               { amount, currency, reference }, header idempotency-key
 *   GET  /charges?key=…         the status query: 200 with the charge, 404, or 409 while a call is in flight
 *   POST /lab/instructions      { reference, behaviours }
 *   GET  /lab/account           { calls, charges }
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Account, Call, CallResult, Charge } from "../../account.ts";
import { type Behaviour, type CarriedOut, instructionSchema } from "./instruction.ts";

/** Larger calls are refused: nobody's charge is as long as that. */
const BODY_BYTES_MAX = 64 * 1024;

export interface ProcessorOptions {
  readonly honoursKeys: boolean;
}

/** What a key stands for. */
interface Known {
  readonly request: string;
  /** Null while the first call is in flight. */
  charge: Charge | null;
}

interface Told {
  readonly left: Behaviour[];
  carriedOut: number;
}

type Answer = readonly [status: number, body: object];

/** A stalled call is not answered: whoever waits is left waiting. */
type Reaction = Answer | "none";

export function processorServer({ honoursKeys }: ProcessorOptions): Server {
  const calls: Call[] = [];
  const charges: Charge[] = [];
  const keys = new Map<string, Known>();
  const instructions = new Map<string, Told>();

  return createServer((request, response) => {
    void react(request)
      .catch((error: unknown): Answer => [400, { error: error instanceof Error ? error.message : String(error) }])
      .then((reaction) => reaction !== "none" && send(response, reaction));
  });

  async function react(request: IncomingMessage): Promise<Reaction> {
    const url = new URL(request.url ?? "/", "http://processor");
    switch (`${request.method} ${url.pathname}`) {
      case "POST /charges":
        return charge(keyOf(request), await bodyOf(request));
      case "GET /charges":
        return query(url.searchParams.get("key") ?? "");
      case "POST /lab/instructions":
        return [200, instruct(await bodyOf(request))];
      case "GET /lab/account":
        return [200, { calls, charges } satisfies Account];
      case "GET /health":
        return [200, { ok: true }];
      default:
        return [404, { error: "there is nothing here" }];
    }
  }

  async function charge(key: string | null, text: string): Promise<Reaction> {
    const asked = chargeAsked(text);
    const { reference } = asked;
    const note = (result: CallResult, id: string | null): void => {
      calls.push({ kind: "charge", key, reference, result, charge: id });
    };
    const known = key === null || !honoursKeys ? undefined : keys.get(key);
    if (known !== undefined) return again(known, text, note);
    const entry: Known = { request: text, charge: null };
    if (key !== null) keys.set(key, entry);
    const behaviour = nextBehaviour(reference);
    if (behaviour?.do === "fail-before" || behaviour?.do === "stall-before") {
      // Nothing happened, so the key stands for nothing.
      if (key !== null) keys.delete(key);
      note("failed", null);
      return behaviour.do === "stall-before" ? "none" : [503, { error: "unavailable" }];
    }
    if (behaviour?.do === "late") await sleep(behaviour.ms);
    const made: Charge = {
      ...asked,
      id: `ch_${randomUUID()}`,
      key,
      status: behaviour?.do === "decline" ? "declined" : "succeeded",
    };
    charges.push(made);
    entry.charge = made;
    note(made.status === "declined" ? "declined" : "charged", made.id);
    switch (behaviour?.do) {
      case "stall-after":
        return "none";
      case "fail-after":
        return [500, { error: "internal error" }];
      default:
        return decided(made);
    }
  }

  function again(
    { request, charge }: Known,
    text: string,
    note: (result: CallResult, id: string | null) => void,
  ): Answer {
    if (request !== text) {
      note("mismatch", null);
      return [422, { error: "the key was used for another charge" }];
    }
    if (charge === null) {
      note("in-flight", null);
      return [409, { error: "a call with this key is in flight" }];
    }
    note("replayed", charge.id);
    return decided(charge);
  }

  function query(key: string): Answer {
    const known = keys.get(key);
    const charge = known?.charge ?? null;
    const reference = charge?.reference ?? (known === undefined ? null : chargeAsked(known.request).reference);
    const result: CallResult = charge !== null ? "found" : known === undefined ? "unknown" : "in-flight";
    calls.push({ kind: "query", key, reference, result, charge: charge?.id ?? null });
    if (charge !== null) return [200, charge];
    return known === undefined ? [404, { error: "no charge of this key" }] : [409, { error: "a call is in flight" }];
  }

  function instruct(text: string): CarriedOut {
    const { reference, behaviours } = instructionSchema.parse(JSON.parse(text));
    const carriedOut = instructions.get(reference)?.carriedOut ?? 0;
    if (behaviours.length === 0) instructions.delete(reference);
    else instructions.set(reference, { left: [...behaviours], carriedOut: 0 });
    return { carriedOut };
  }

  function nextBehaviour(reference: string): Behaviour | undefined {
    const told = instructions.get(reference);
    const next = told?.left.shift();
    if (told !== undefined && next !== undefined) told.carriedOut += 1;
    return next;
  }
}

function decided(charge: Charge): Answer {
  return [charge.status === "declined" ? 402 : 201, charge];
}

function keyOf({ headers }: IncomingMessage): string | null {
  const key = headers["idempotency-key"];
  return typeof key === "string" ? key : null;
}

/** Amounts are kept as text: a processor that rounds would hide a target that does. */
function chargeAsked(text: string): Pick<Charge, "reference" | "amount" | "currency"> {
  const { reference, amount, currency } = JSON.parse(text) as Record<string, unknown>;
  if (typeof reference !== "string" || reference === "") throw new Error("a charge has a reference");
  return { reference, amount: String(amount), currency: String(currency) };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new Error("the body is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, [status, body]: Answer): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

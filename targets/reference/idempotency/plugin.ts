/**
 * The key layer as one encapsulated Fastify plugin. A route opts in by `config.idempotency`; its handler
 * finds the claimed operation on the request and completes it.
 *
 *   key → fingerprint → claim → decide → (execute → complete | replay | refuse)
 *
 * What to execute is a local effect, or a call to the processor over recovery points (downstream.ts). A route
 * with local effects may choose to have its claim in the effect's transaction (one-transaction/steps.ts).
 */
import { createHash } from "node:crypto";
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import plugin from "fastify-plugin";
import type { Pool } from "pg";
import { pass } from "../failpoints.ts";
import type { Json, JsonObject } from "../json.ts";
import { askProcessor } from "../processor/ask.ts";
import { callProcessor } from "../processor/call.ts";
import type { Processor } from "../processor/exchange.ts";
import { type ClaimResult, claimKey } from "./claim.ts";
import { cleanUp } from "./clean-up.ts";
import { cleanRegularly } from "./cleaning.ts";
import { ClaimLost, complete, type EffectInTransaction } from "./complete.ts";
import { carryOut, type DownstreamSteps, downstreamKeyOf, type EffectOfOutcome, OutcomeOpen } from "./downstream.ts";
import { type FingerprintVersion, fingerprintOf, versionOf } from "./fingerprint.ts";
import { hold } from "./hold.ts";
import { keyOf } from "./key.ts";
import { oneTransactionSteps } from "./one-transaction/steps.ts";
import { PROBLEM_TYPE, Problem, problemBody } from "./problem.ts";
import {
  type Claim,
  type Durations,
  isResumed,
  type KeyIdentity,
  type KeyRecord,
  type StoredAnswer,
} from "./record.ts";
import { recordIntent } from "./record-intent.ts";
import { recordOutcome } from "./record-outcome.ts";
import { release } from "./release.ts";
import { renew } from "./renew.ts";
import { takeOver } from "./take-over.ts";

export interface IdempotentRoute {
  /**
   * Every field that decides the outcome, after defaults and normalisation. Throws a `Problem` for a body
   * that is invalid; that answer is stored like any other.
   */
  fields(body: Json): Json;
  /** Left out: two transactions, the only way for an operation that calls a processor. */
  readonly way?: Way;
}

/** Claim and effect in a transaction each, with a lease in between, or both in one. */
export type Way = "two-transactions" | "one-transaction";

/** The phases, by name. A service takes them as they are; the zoo replaces one to be broken in one way. */
export interface Steps extends DownstreamSteps {
  keyOf(headers: FastifyRequest["headers"]): string;
  scopeOf(request: FastifyRequest): string;
  fingerprintOf(fields: Json, version: FingerprintVersion): string;
  claim(pool: Pool, identity: KeyIdentity, requestHash: string, durations: Durations): Promise<ClaimResult>;
  decide(record: KeyRecord, requestHash: string): Decision;
  takeOver(
    pool: Pool,
    identity: KeyIdentity,
    seen: KeyRecord,
    requestHash: string,
    durations: Durations,
  ): Promise<Claim | null>;
  /** What becomes of the key when the handler failed before any effect. */
  fail(pool: Pool, claim: Claim, error: Problem): Promise<void>;
  /** What becomes of the key when the client hangs up before its answer. The handler goes on. */
  disconnected(pool: Pool, claim: Claim): Promise<void>;
  /** What becomes of the record when an attempt is refused for another payload. */
  refuse(pool: Pool, identity: KeyIdentity, error: Problem): Promise<void>;
  replay(answer: StoredAnswer): StoredAnswer;
  /** Ends early, between two batches, when the service closes. */
  cleanUp(pool: Pool, signal: AbortSignal): Promise<number>;
}

export type Decision = "replay" | "conflict" | "mismatch" | "take-over";

export interface IdempotencyOptions extends Durations {
  readonly pool: Pool;
  readonly cleanUpEveryMs: number;
  /** By which algorithm a new record's fingerprint is made. */
  readonly fingerprintVersion?: FingerprintVersion;
  /** Left out where no operation calls one. */
  readonly processor?: Processor | null;
  readonly steps?: Partial<Steps>;
}

/** The claimed operation, as a handler sees it. */
export interface Operation<Fields = Json> {
  readonly fields: Fields;
  /** Runs the effect and completes the record in one transaction, then answers. */
  complete(effect: EffectInTransaction): Promise<FastifyReply>;
  /** Calls the processor once, whatever happens; then as `complete`. */
  carryOut(call: DownstreamCall, effect: EffectOfOutcome): Promise<FastifyReply>;
}

interface DownstreamCall {
  /** The operation's own name for this call. */
  readonly step: string;
  readonly fields: JsonObject;
}

declare module "fastify" {
  interface FastifyContextConfig {
    idempotency?: IdempotentRoute;
  }
  interface FastifyRequest {
    caller: string;
    operation: Operation | null;
    claim: Claim | null;
  }
}

export const REPLAYED_HEADER = "idempotency-replayed";

/** Each repetition means that another attempt took over or finished between the look and the act. */
const DECIDE_TRIES = 20;

const ownSteps: Steps = {
  keyOf,
  scopeOf,
  fingerprintOf,
  claim: claimKey,
  decide,
  takeOver,
  downstreamKeyOf,
  recordIntent,
  renew,
  call: callProcessor,
  ask: askProcessor,
  recordOutcome,
  complete,
  hold,
  fail: (pool, claim) => release(pool, claim),
  disconnected: () => Promise.resolve(),
  refuse: () => Promise.resolve(),
  replay: (answer) => answer,
  cleanUp: (pool, signal) => cleanUp(pool, { signal }),
};

const idempotencyPlugin: FastifyPluginAsync<IdempotencyOptions> = async (app, options) => {
  const { pool, fingerprintVersion = 1 } = options;
  const ways: Readonly<Record<Way, Steps>> = {
    "two-transactions": { ...ownSteps, ...options.steps },
    "one-transaction": { ...ownSteps, ...oneTransactionSteps, ...options.steps },
  };
  const stepsOf = ({ routeOptions }: FastifyRequest): Steps =>
    ways[routeOptions.config.idempotency?.way ?? "two-transactions"];

  app.decorateRequest("operation", null);
  app.decorateRequest("claim", null);

  app.addHook("preHandler", async (request, reply) => {
    const route = request.routeOptions.config.idempotency;
    if (route === undefined) return undefined;
    const steps = stepsOf(request);
    const key = steps.keyOf(request.headers);
    const { fields, invalid } = fieldsOf(route, request.body as Json | undefined);
    const identity = { scope: steps.scopeOf(request), key };
    await pass("before-claim");
    const held = await claimOrAnswer(reply, identity, fields);
    if (held === null) return reply;
    // A claim that is resumed is never released: the processor may have been called.
    request.claim = isResumed(held) ? null : held;
    reply.raw.once("close", () => {
      if (!reply.raw.writableEnded && request.claim !== null) void disconnected(request, request.claim);
    });
    await pass("claimed").catch((error: unknown) => {
      if (isResumed(held)) return refuseHeld(request, held, error);
      throw error;
    });
    const settled = (work: () => Promise<StoredAnswer>) =>
      settle({ request, reply, identity, fields, claim: held }, work);
    const complete = (effect: EffectInTransaction) => settled(() => steps.complete(pool, held, passingPhases(effect)));
    if (invalid !== null) return complete(async () => stored(invalid));
    request.operation = {
      fields,
      complete,
      carryOut: ({ step, fields: sent }, effect) => {
        if (!options.processor) throw new Error("There is no processor to call");
        const surroundings = { pool, steps, processor: options.processor, leaseMs: options.leaseMs };
        const intent = { downstreamKey: steps.downstreamKeyOf(identity, step), caller: request.caller, fields: sent };
        return settled(() => carryOut(surroundings, held, intent, effect));
      },
    };
    return undefined;
  });

  /** The handler failed before it completed anything. A key that cannot be freed is free when its lease is over. */
  app.addHook("onError", async (request, _reply, error) => {
    if (request.claim === null) return;
    await stepsOf(request)
      .fail(pool, request.claim, asProblem(error))
      .catch((failure: unknown) => app.log.error(failure, "a key could not be released"));
  });

  async function disconnected(request: FastifyRequest, claim: Claim): Promise<void> {
    await stepsOf(request)
      .disconnected(pool, claim)
      .catch((failure: unknown) => app.log.error(failure, "a client's hanging up could not be noted"));
  }

  /** The claim, or null when the reply is already on its way. Throws the refusals. */
  async function claimOrAnswer(reply: FastifyReply, identity: KeyIdentity, fields: Json): Promise<Claim | null> {
    const steps = stepsOf(reply.request);
    for (let tries = 0; tries < DECIDE_TRIES; tries += 1) {
      const result = await steps.claim(pool, identity, newFingerprintOf(steps, fields), options);
      if (result.won) return result.claim;
      const { record } = result;
      const requestHash = fingerprintAsIn(steps, record, fields);
      const decision = steps.decide(record, requestHash);
      if (decision !== "take-over") {
        await answer(reply, identity, record, decision);
        return null;
      }
      await pass("taking-over");
      const claim = await steps.takeOver(pool, identity, record, requestHash, options);
      if (claim !== null) return claim;
    }
    throw inFlight(options.leaseMs);
  }

  function newFingerprintOf(steps: Steps, fields: Json): string {
    return steps.fingerprintOf(fields, fingerprintVersion);
  }

  /** By the algorithm that made the record's: another deployment may have claimed the key, before this one or after. */
  function fingerprintAsIn(steps: Steps, record: KeyRecord, fields: Json): string {
    return steps.fingerprintOf(fields, versionOf(record.requestHash));
  }

  /** Replays, or throws the refusal. */
  async function answer(
    reply: FastifyReply,
    identity: KeyIdentity,
    record: KeyRecord,
    decision: Exclude<Decision, "take-over">,
  ): Promise<void> {
    switch (decision) {
      case "mismatch": {
        const problem = new Problem(422, "key-reused", "This Idempotency-Key was used for another request");
        await stepsOf(reply.request).refuse(pool, identity, problem);
        throw problem;
      }
      case "replay":
        await pass("replaying");
        send(reply.header(REPLAYED_HEADER, "true"), stepsOf(reply.request).replay(record.answer ?? lostAnswer()));
        return;
      case "conflict":
        throw inFlight(record.leaseLeftMs);
    }
  }

  async function settle(
    { request, reply, identity, fields, claim }: Attempt,
    work: () => Promise<StoredAnswer>,
  ): Promise<FastifyReply> {
    try {
      const completed = await work();
      request.claim = null;
      await pass("committed");
      return send(reply, completed);
    } catch (error) {
      if (error instanceof OutcomeOpen) {
        request.claim = null;
        return refuseHeld(request, claim, error);
      }
      if (!(error instanceof ClaimLost)) throw error;
      request.claim = null;
      await answerZombie(reply, identity, fields);
      return reply;
    }
  }

  /** A key that could not even be read is held all the same: nobody has let it go. */
  async function refuseHeld(request: FastifyRequest, claim: Claim, error: unknown): Promise<never> {
    app.log.error(error, "an operation's outcome is open");
    const leaseLeftMs = await stepsOf(request)
      .hold(pool, claim)
      .catch((failure: unknown) => {
        app.log.error(failure, "the rest of a lease could not be read");
        return options.leaseMs;
      });
    throw outcomeOpen(leaseLeftMs);
  }

  /**
   * Who lost its claim gets what the new holder answers, or is told to come back. It takes nothing over: the
   * request is old, and what it asks for may have been done, answered and forgotten since.
   */
  async function answerZombie(reply: FastifyReply, identity: KeyIdentity, fields: Json): Promise<void> {
    const steps = stepsOf(reply.request);
    const result = await steps.claim(pool, identity, newFingerprintOf(steps, fields), options);
    if (result.won) {
      const problem = inFlight(0);
      await steps.fail(pool, result.claim, problem);
      throw problem;
    }
    const decision = steps.decide(result.record, fingerprintAsIn(steps, result.record, fields));
    if (decision === "take-over") throw inFlight(0);
    await answer(reply, identity, result.record, decision);
  }

  const stopCleaning = cleanRegularly(options.cleanUpEveryMs, async (signal) => {
    await ways["two-transactions"]
      .cleanUp(pool, signal)
      .catch((error: unknown) => app.log.error(error, "cleanup failed"));
  });
  app.addHook("onClose", stopCleaning);
};

/** One request that holds its key. */
interface Attempt {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly identity: KeyIdentity;
  readonly fields: Json;
  readonly claim: Claim;
}

/** Here and not in the steps, so that whoever replaces one keeps the failpoints. */
function passingPhases(effect: EffectInTransaction): EffectInTransaction {
  return async (transaction) => {
    await pass("before-effect");
    const answer = await effect(transaction);
    await pass("before-completion");
    return answer;
  };
}

export const idempotency = plugin(idempotencyPlugin, { name: "idempotency", fastify: "5.x" });

/**
 * Caller, route and what the path and the query say in it: the same key elsewhere is another operation.
 * The query is read as it was sent, since a parsed one may have lost which values were apart; it is kept as
 * a hash, since it may be longer than what an index takes.
 */
export function scopeOf(request: FastifyRequest): string {
  const { method, url = "" } = request.routeOptions;
  const parameters = Object.entries(request.params as Record<string, string>).sort();
  const query = new URLSearchParams(request.url.split("?").slice(1).join("?"));
  query.sort();
  const isPlain = parameters.length === 0 && query.size === 0;
  const where = JSON.stringify([parameters, query.toString()]);
  return JSON.stringify([request.caller, method, url, isPlain ? "" : sha256(where)]);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function decide(record: KeyRecord, requestHash: string): Decision {
  const isInProgress = record.state === "in_progress";
  const isLive = isInProgress && record.leaseLeftMs > 0;
  // The processor may have been called: however old, it is this operation that has to be finished.
  const isOpen = isInProgress && (record.recoveryPoint ?? "claimed") !== "claimed";
  if (record.isExpired && !isLive && !isOpen) return "take-over";
  if (record.requestHash !== requestHash) return "mismatch";
  if (record.state === "completed") return "replay";
  return isLive ? "conflict" : "take-over";
}

/**
 * An invalid body has no fields; what was sent stands in for them, marked, so that it never looks like the
 * fields of a valid one. Where nothing was sent there is nothing to tell a retry by: that claims no key.
 */
function fieldsOf({ fields }: IdempotentRoute, body: Json | undefined): { fields: Json; invalid: Problem | null } {
  try {
    return { fields: fields(body ?? null), invalid: null };
  } catch (error) {
    if (error instanceof Problem && body !== undefined) return { fields: { invalid: body }, invalid: error };
    throw error;
  }
}

function send(reply: FastifyReply, { status, headers, body }: StoredAnswer): FastifyReply {
  return reply.code(status).headers(headers).send(body);
}

function stored(problem: Problem): StoredAnswer {
  return { status: problem.statusCode, headers: { "content-type": PROBLEM_TYPE }, body: problemBody(problem) };
}

/** The wait that is promised is the rest of the lease: by then the key has an answer or can be taken over. */
function inFlight(leaseLeftMs: number): Problem {
  return new Problem(409, "request-in-flight", "A request with this Idempotency-Key is in flight", {
    "retry-after": wholeSeconds(leaseLeftMs),
  });
}

/** No answer to keep: a retry with the same key finds the outcome out. */
function outcomeOpen(leaseLeftMs: number): Problem {
  const detail = "Whether the operation was carried out is not known yet; ask again with the same Idempotency-Key";
  return new Problem(504, "outcome-unknown", detail, { "retry-after": wholeSeconds(leaseLeftMs) });
}

function wholeSeconds(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1000)));
}

function asProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(500, "internal-error", "The request failed");
}

function lostAnswer(): never {
  throw new Error("A completed record has no answer");
}

/**
 * An operation that calls the processor, over its recovery points; whoever takes it over goes on at the last
 * one that was recorded.
 *
 *   claimed → intent recorded → (processor called) → outcome recorded → completed
 *
 * Until the call a failure frees the key. From the call on it holds it: what was charged shall neither be
 * charged again nor forgotten.
 */
import { createHash } from "node:crypto";
import type { Pool, PoolClient } from "pg";
import { pass } from "../failpoints.ts";
import type { JsonObject } from "../json.ts";
import type { AskResult } from "../processor/ask.ts";
import type { CallResult } from "../processor/call.ts";
import type { Processor } from "../processor/exchange.ts";
import { ClaimLost, type EffectInTransaction } from "./complete.ts";
import { Problem } from "./problem.ts";
import type { Claim, Intent, KeyIdentity, Outcome, StoredAnswer } from "./record.ts";

/** The phases of a downstream operation, by name, to be replaced one at a time like all others. */
export interface DownstreamSteps {
  downstreamKeyOf(identity: KeyIdentity, step: string): string;
  recordIntent(pool: Pool, claim: Claim, intent: Intent, leaseMs: number): Promise<void>;
  /** Throws a `ClaimLost` when the claim is somebody else's by now. */
  renew(pool: Pool, claim: Claim, leaseMs: number): Promise<void>;
  call(processor: Processor, downstreamKey: string, fields: JsonObject): Promise<CallResult>;
  ask(processor: Processor, downstreamKey: string): Promise<AskResult>;
  recordOutcome(pool: Pool, claim: Claim, outcome: Outcome): Promise<void>;
  complete(pool: Pool, claim: Claim, effect: EffectInTransaction): Promise<StoredAnswer>;
  /** What becomes of the key when nobody knows the outcome; gives the milliseconds until it can be taken over. */
  hold(pool: Pool, claim: Claim): Promise<number>;
}

export interface Surroundings {
  readonly pool: Pool;
  readonly steps: DownstreamSteps;
  readonly processor: Processor;
  readonly leaseMs: number;
}

/** What an operation does once its outcome is known, in the transaction that completes its record. */
export type EffectOfOutcome = (transaction: PoolClient, outcome: Outcome) => Promise<StoredAnswer>;

/** Something failed after the processor may have been called. The key is still this holder's. */
export class OutcomeOpen extends Error {}

/** Throws a `ClaimLost`; an `OutcomeOpen` when the key has to be held; anything else before the call. */
export async function carryOut(
  surroundings: Surroundings,
  claim: Claim,
  intent: Intent,
  effect: EffectOfOutcome,
): Promise<StoredAnswer> {
  const outcome = await outcomeOf(surroundings, claim, intent);
  const { steps, pool } = surroundings;
  return holding(() => steps.complete(pool, claim, beforeCompletion(outcome, effect)));
}

async function outcomeOf(surroundings: Surroundings, claim: Claim, intent: Intent): Promise<Outcome> {
  const { pool, steps, leaseMs } = surroundings;
  const progress = claim.progress ?? { point: "claimed" };
  switch (progress.point) {
    case "claimed":
      await steps.recordIntent(pool, claim, intent, leaseMs);
      await pass("intent-recorded");
      return holding(() => callAndRecord(surroundings, claim, intent));
    case "intent-recorded":
      return holding(() => askAndRecord(surroundings, claim, intent));
    case "outcome-recorded":
      return progress.outcome;
  }
}

/** A call that was never sent changed nothing, unless an earlier holder's may have been. */
async function callAndRecord(surroundings: Surroundings, claim: Claim, intent: Intent): Promise<Outcome> {
  const { pool, steps, processor, leaseMs } = surroundings;
  await steps.renew(pool, claim, leaseMs);
  const result = await steps.call(processor, intent.downstreamKey, intent.fields);
  await pass("downstream-called");
  switch (result.kind) {
    case "decided":
      return recorded(surroundings, claim, result.outcome);
    case "not-sent":
      if (claim.progress?.point === "intent-recorded") throw new OutcomeOpen(result.reason);
      throw new NotSent();
    case "unknown":
      throw new OutcomeOpen(result.reason);
  }
}

/**
 * An earlier holder may have called. Where the processor knows nothing of it, its call may still be on the way:
 * this one has the same key, so that they are one to the processor.
 */
async function askAndRecord(surroundings: Surroundings, claim: Claim, intent: Intent): Promise<Outcome> {
  const { steps, processor } = surroundings;
  const result = await steps.ask(processor, intent.downstreamKey);
  if (result.kind === "not-found") return callAndRecord(surroundings, claim, intent);
  await pass("downstream-called");
  if (result.kind === "unknown") throw new OutcomeOpen(result.reason);
  return recorded(surroundings, claim, result.outcome);
}

async function recorded({ pool, steps }: Surroundings, claim: Claim, outcome: Outcome): Promise<Outcome> {
  await steps.recordOutcome(pool, claim, outcome);
  await pass("outcome-recorded");
  return outcome;
}

/** Here and not in the step, so that whoever replaces it keeps the failpoint. */
function beforeCompletion(outcome: Outcome, effect: EffectOfOutcome): EffectInTransaction {
  return async (transaction) => {
    const answer = await effect(transaction, outcome);
    await pass("before-completion");
    return answer;
  };
}

/** Whatever fails here leaves the outcome open, except what proves that this holder has nothing left to hold. */
async function holding<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const isProved = error instanceof ClaimLost || error instanceof OutcomeOpen || error instanceof NotSent;
    throw isProved ? error : new OutcomeOpen("The operation failed after its call", { cause: error });
  }
}

class NotSent extends Problem {
  constructor() {
    super(503, "processor-unreachable", "The processor cannot be reached, and nothing was charged");
  }
}

/**
 * The key for the processor: the same for every attempt and every holder, another for each step. A change here
 * would charge twice what is open at the time.
 */
export function downstreamKeyOf({ scope, key }: KeyIdentity, step: string): string {
  return createHash("sha256")
    .update(JSON.stringify([scope, key, step]))
    .digest("hex");
}

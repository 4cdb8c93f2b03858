/**
 * Resolves held keys by asking the processor. What it finds is recorded and completed as the request handler
 * would have; where it finds nothing the key is given back, to be taken over by a client's retry or looked at
 * again later. It never calls: only a client's retry says that the operation is still wanted.
 */
import type { Pool } from "pg";
import { type Failpoints, passAs } from "../failpoints.ts";
import { askProcessor } from "../processor/ask.ts";
import type { Processor } from "../processor/exchange.ts";
import { ClaimLost, complete } from "./complete.ts";
import type { EffectOfOutcome } from "./downstream.ts";
import { giveBack } from "./give-back.ts";
import { type DueKey, dueKeys } from "./held.ts";
import type { Claim, Durations, Intent, Outcome } from "./record.ts";
import { recordOutcome } from "./record-outcome.ts";
import { takeOver } from "./take-over.ts";

/** The phases, by name, as the key layer has them. */
export interface ReconcilerSteps {
  takeOver: typeof takeOver;
  ask: typeof askProcessor;
  recordOutcome: typeof recordOutcome;
  complete: typeof complete;
  giveBack: typeof giveBack;
}

export const reconcilerSteps: ReconcilerSteps = {
  takeOver,
  ask: askProcessor,
  recordOutcome,
  complete,
  giveBack,
};

export interface ReconcileOptions extends Durations {
  readonly pool: Pool;
  readonly processor: Processor;
  /** First wait between two looks at one key, in milliseconds. */
  readonly everyMs: number;
  /** A key that was looked at so often is left to people, and to a client's retry. */
  readonly triesMax: number;
  readonly failpoints: Failpoints | null;
  readonly effect: (intent: Intent) => EffectOfOutcome;
  readonly onError: (error: unknown) => void;
  readonly signal?: AbortSignal;
  readonly steps?: Partial<ReconcilerSteps>;
}

interface Reconciliation extends ReconcileOptions {
  readonly all: ReconcilerSteps;
}

/** Few enough that what became due meanwhile does not wait long. */
const BATCH_ROWS = 50;

/** Looks once at every key that is due, up to a batch; gives the number of those it resolved. */
export async function reconcile(options: ReconcileOptions): Promise<number> {
  const reconciliation = { ...options, all: { ...reconcilerSteps, ...options.steps } };
  let resolved = 0;
  for (const due of await dueKeys(options.pool, options.triesMax, BATCH_ROWS)) {
    if (options.signal?.aborted) break;
    try {
      if (await resolve(reconciliation, due)) resolved += 1;
    } catch (error) {
      // Another holder has it: a client's retry, or another reconciler.
      if (!(error instanceof ClaimLost)) options.onError(error);
    }
  }
  return resolved;
}

async function resolve(reconciliation: Reconciliation, due: DueKey): Promise<boolean> {
  const { pool, all, everyMs, failpoints } = reconciliation;
  const claim = await all.takeOver(pool, due.identity, due, due.requestHash, reconciliation);
  if (claim === null) return false;
  try {
    await passAs(failpoints, claim.key, "reconciling");
    const outcome = await outcomeOf(reconciliation, claim, due.intent);
    if (outcome !== null) {
      await all.complete(pool, claim, (transaction) => reconciliation.effect(due.intent)(transaction, outcome));
      return true;
    }
  } catch (error) {
    // Fenced like everything else: it gives nothing back that was completed or taken meanwhile.
    await all.giveBack(pool, claim, everyMs).catch(reconciliation.onError);
    throw error;
  }
  await all.giveBack(pool, claim, everyMs);
  return false;
}

/** Null: the processor knows nothing of it, or cannot be asked. */
async function outcomeOf(
  { pool, processor, all }: Reconciliation,
  claim: Claim,
  { downstreamKey }: Intent,
): Promise<Outcome | null> {
  if (claim.progress?.point === "outcome-recorded") return claim.progress.outcome;
  const result = await all.ask(processor, downstreamKey);
  if (result.kind !== "found") return null;
  await all.recordOutcome(pool, claim, result.outcome);
  return result.outcome;
}

/** Every invariant, in the order of the report. One line each. */
import type { Invariant } from "../invariant.ts";
import { acknowledgedEffectExists } from "./acknowledged-effect-exists.ts";
import { atMostOneEffect } from "./at-most-one-effect.ts";
import { atomicRecordAndEffect } from "./atomic-record-and-effect.ts";
import { distinctKeysStayDistinct } from "./distinct-keys-stay-distinct.ts";
import { effectMatchesAnswer } from "./effect-matches-answer.ts";
import { equalRequestsReplay } from "./equal-requests-replay.ts";
import { everyOutcomeFieldIsFingerprinted } from "./every-outcome-field-is-fingerprinted.ts";
import { internalMarkersAreInert } from "./internal-markers-are-inert.ts";
import { malformedKeyIsRejected } from "./malformed-key-is-rejected.ts";
import { missingKeyIsRejected } from "./missing-key-is-rejected.ts";
import { noEffectWithoutAcceptance } from "./no-effect-without-acceptance.ts";
import { noReplayAcrossMismatch } from "./no-replay-across-mismatch.ts";
import { replayIsIdentical } from "./replay-is-identical.ts";
import { scopesAreIsolated } from "./scopes-are-isolated.ts";

const list = [
  atMostOneEffect,
  acknowledgedEffectExists,
  noEffectWithoutAcceptance,
  effectMatchesAnswer,
  atomicRecordAndEffect,
  replayIsIdentical,
  noReplayAcrossMismatch,
  equalRequestsReplay,
  everyOutcomeFieldIsFingerprinted,
  scopesAreIsolated,
  distinctKeysStayDistinct,
  missingKeyIsRejected,
  malformedKeyIsRejected,
  internalMarkersAreInert,
] as const satisfies readonly Invariant[];

export type InvariantId = (typeof list)[number]["id"];
export const invariants: readonly Invariant[] = list;

/** Every invariant, in the order of the report. One line each. */
import type { Invariant } from "../invariant.ts";
import { acknowledgedEffectExists } from "./acknowledged-effect-exists.ts";
import { atMostOneEffect } from "./at-most-one-effect.ts";
import { atomicRecordAndEffect } from "./atomic-record-and-effect.ts";
import { conflictInvitesRetry } from "./conflict-invites-retry.ts";
import { conflictOnlyWhileInFlight } from "./conflict-only-while-in-flight.ts";
import { distinctKeysStayDistinct } from "./distinct-keys-stay-distinct.ts";
import { duplicatesCauseNoServerError } from "./duplicates-cause-no-server-error.ts";
import { duplicatesGetAPromisedAnswer } from "./duplicates-get-a-promised-answer.ts";
import { effectMatchesAnswer } from "./effect-matches-answer.ts";
import { equalRequestsReplay } from "./equal-requests-replay.ts";
import { errorPolicyIsKept } from "./error-policy-is-kept.ts";
import { everyKeyResolves } from "./every-key-resolves.ts";
import { everyOutcomeFieldIsFingerprinted } from "./every-outcome-field-is-fingerprinted.ts";
import { internalMarkersAreInert } from "./internal-markers-are-inert.ts";
import { malformedKeyIsRejected } from "./malformed-key-is-rejected.ts";
import { missingKeyIsRejected } from "./missing-key-is-rejected.ts";
import { noBlindReexecution } from "./no-blind-reexecution.ts";
import { noEffectWithoutAcceptance } from "./no-effect-without-acceptance.ts";
import { noReplayAcrossMismatch } from "./no-replay-across-mismatch.ts";
import { onceCompletedAlwaysCompleted } from "./once-completed-always-completed.ts";
import { oneDownstreamOperation } from "./one-downstream-operation.ts";
import { originalSurvivesRejection } from "./original-survives-rejection.ts";
import { replayIsIdentical } from "./replay-is-identical.ts";
import { replayIsMarked } from "./replay-is-marked.ts";
import { retentionIsKept } from "./retention-is-kept.ts";
import { scopesAreIsolated } from "./scopes-are-isolated.ts";
import { singleTakeover } from "./single-takeover.ts";
import { unrelatedKeysAreUnaffected } from "./unrelated-keys-are-unaffected.ts";
import { zombieIsFenced } from "./zombie-is-fenced.ts";

const list = [
  atMostOneEffect,
  acknowledgedEffectExists,
  noEffectWithoutAcceptance,
  effectMatchesAnswer,
  oneDownstreamOperation,
  noBlindReexecution,
  atomicRecordAndEffect,
  replayIsIdentical,
  replayIsMarked,
  noReplayAcrossMismatch,
  equalRequestsReplay,
  everyOutcomeFieldIsFingerprinted,
  scopesAreIsolated,
  distinctKeysStayDistinct,
  missingKeyIsRejected,
  malformedKeyIsRejected,
  internalMarkersAreInert,
  conflictOnlyWhileInFlight,
  conflictInvitesRetry,
  duplicatesGetAPromisedAnswer,
  originalSurvivesRejection,
  errorPolicyIsKept,
  onceCompletedAlwaysCompleted,
  everyKeyResolves,
  singleTakeover,
  zombieIsFenced,
  duplicatesCauseNoServerError,
  unrelatedKeysAreUnaffected,
  retentionIsKept,
] as const satisfies readonly Invariant[];

export type InvariantId = (typeof list)[number]["id"];
export const invariants: readonly Invariant[] = list;

/**
 * The questions that brute-force checkers ask of a history, answered as naively as they can be and without
 * the judge's own code, so that the two can disagree. Only for sketches: an answer is known by its status.
 */
import type { History, OperationRecord, Recorded } from "../history.ts";

type Scope = "caller" | "endpoint" | "query";
export const scopes: readonly Scope[] = ["caller", "endpoint", "query"];

/** The status of the answer, or 0 when there was none. */
export function statusOf({ outcome }: Recorded): number {
  return outcome.kind === "responded" ? outcome.status : 0;
}

export function bodyOf({ outcome }: Recorded): string {
  return outcome.kind === "responded" ? outcome.body.text : "";
}

/** What the body says, however it is spelled: these answers know no spaces within their values. */
export function saidIn(recorded: Recorded): string {
  return bodyOf(recorded).replaceAll(" ", "");
}

export function idOf(recorded: Recorded): string {
  return saidIn(recorded).replace(/^\{"id":"(.*)"\}$/, "$1");
}

export function succeeded(recorded: Recorded): boolean {
  return statusOf(recorded) === 201;
}

export function mismatched({ contract }: History, recorded: Recorded): boolean {
  return contract.mismatch !== "undocumented" && contract.mismatch.some(({ status }) => status === statusOf(recorded));
}

export function conflicted(recorded: Recorded): boolean {
  return statusOf(recorded) === 409;
}

export function marked({ outcome }: Recorded): boolean {
  return outcome.kind === "responded" && outcome.headers["idempotency-replayed"] === "true";
}

/** All attempts under the same key, caller, endpoint and query, in order of invocation. */
export function groupOf({ attempts }: History, { attempt: one }: Recorded): readonly Recorded[] {
  return attempts.filter(
    ({ attempt: other }) =>
      one.key !== null && one.key === other.key && scopes.every((dimension) => one[dimension] === other[dimension]),
  );
}

/** Answered (or, if never, sent) before the record of the group's first attempt may be forgotten. */
export function inTime({ contract: { retentionMs } }: History, first: Recorded, recorded: Recorded): boolean {
  if (retentionMs === "undocumented") return true;
  const end = recorded.completedAt === Infinity ? recorded.invokedAt : recorded.completedAt;
  return end < first.invokedAt + retentionMs * 1000;
}

/** The success of a group that was received first, within retention; none where any key of it is malformed. */
export function ownerOfAll(history: History, group: readonly Recorded[]): Recorded | null {
  const [first] = group;
  if (first === undefined || group.some(({ attempt }) => attempt.malformed !== null)) return null;
  let owner: Recorded | null = null;
  for (const recorded of group) {
    if (!succeeded(recorded) || !inTime(history, first, recorded)) continue;
    if (owner === null || recorded.completedAt < owner.completedAt) owner = recorded;
  }
  return owner;
}

/** Attempts of one group, after its owner and within retention; each with the owner. */
export function followers(history: History): readonly { readonly owner: Recorded; readonly later: Recorded }[] {
  return history.attempts.flatMap((later) => {
    const group = groupOf(history, later);
    const owner = ownerOfAll(history, group);
    const [first] = group;
    if (owner === null || first === undefined || !inTime(history, first, later)) return [];
    return later.invokedAt > owner.completedAt ? [{ owner, later }] : [];
  });
}

/** Is the key's text, as the contract lets it be taken, used in no other scope? */
export function hasKeyToItself(history: History, one: Recorded): boolean {
  const isSilentOnCase = history.contract.key.caseSensitive === "undocumented";
  const taken = ({ attempt: { key } }: Recorded) => (isSilentOnCase ? key?.toLowerCase() : key);
  return history.attempts.every(
    (other) => one.attempt.key !== null && (taken(other) !== taken(one) || groupOf(history, one).includes(other)),
  );
}

/** The verdict of a brute-force checker. */
export function resultOf(violated: number, checked: number): "fail" | "pass" | "skip" {
  return violated > 0 ? "fail" : checked > 0 ? "pass" : "skip";
}

/** Was an attempt of the operation made when its key may have been forgotten? */
export function outlives(
  { contract: { retentionMs } }: History,
  { attempts }: Pick<OperationRecord, "attempts">,
): boolean {
  const start = Math.min(...attempts.map(({ invokedAt }) => invokedAt));
  return attempts.some(({ invokedAt, completedAt }) => {
    const end = Number.isFinite(completedAt) ? completedAt : invokedAt;
    return retentionMs !== "undocumented" && end >= start + retentionMs * 1000;
  });
}

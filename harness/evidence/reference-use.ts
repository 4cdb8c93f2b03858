/**
 * The books name effects by reference. Operations that share one on purpose (equal bodies under distinct keys)
 * may take effect once each, and are judged together.
 */
import type { Contract } from "../contract.ts";
import type { History, OperationRecord, Recorded } from "../history.ts";
import { withinRetention } from "./answers.ts";
import { oncePerHistory } from "./once.ts";

export interface ReferenceUse {
  readonly reference: string;
  readonly operations: readonly OperationRecord[];
  readonly attempts: readonly Recorded[];
}

/** References of which no key can have been forgotten: afterwards a retry rightly executes again. */
export const rememberedReferences = oncePerHistory((history): readonly ReferenceUse[] =>
  referenceUses(history).filter(
    ({ operations }) => !operations.some((operation) => outlivesRetention(history.contract, operation)),
  ),
);

/** Why a judge of the remembered references looked at nothing: none is left, or `otherwise`. */
export function nothingRemembered(history: History, otherwise: string): string {
  const { retentionMs } = history.contract;
  const isForgotten = referenceUses(history).length > 0 && rememberedReferences(history).length === 0;
  return isForgotten
    ? `every key outlived its retention of ${retentionMs} ms, and may rightly have executed again`
    : otherwise;
}

export const referenceUses = oncePerHistory((history): readonly ReferenceUse[] => {
  const groups = new Map<string, OperationRecord[]>();
  for (const operation of history.operations) {
    const known = groups.get(operation.reference);
    if (known) known.push(operation);
    else groups.set(operation.reference, [operation]);
  }
  return [...groups].map(([reference, operations]) => ({
    reference,
    operations,
    attempts: attemptsOf(operations),
  }));
});

function attemptsOf(operations: readonly OperationRecord[]): readonly Recorded[] {
  const [only, ...others] = operations;
  return only !== undefined && others.length === 0 ? only.attempts : operations.flatMap(({ attempts }) => attempts);
}

function outlivesRetention(contract: Contract, operation: OperationRecord): boolean {
  return withinRetention(contract, operation).length < operation.attempts.length;
}

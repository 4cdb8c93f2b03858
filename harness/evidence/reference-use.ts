/**
 * The books name effects by reference. Operations that share one on purpose (equal bodies under distinct keys)
 * may take effect once each, and are judged together.
 */
import type { Contract } from "../contract.ts";
import type { History, OperationRecord, Recorded } from "../history.ts";
import { withinRetention } from "./answers.ts";

export interface ReferenceUse {
  readonly reference: string;
  readonly operations: readonly OperationRecord[];
  readonly attempts: readonly Recorded[];
}

/** References of which no key can have been forgotten: afterwards a retry rightly executes again. */
export function rememberedReferences(history: History): readonly ReferenceUse[] {
  return referenceUses(history).filter(
    ({ operations }) => !operations.some((operation) => outlivesRetention(history.contract, operation)),
  );
}

export function referenceUses(history: History): readonly ReferenceUse[] {
  const groups = new Map<string, OperationRecord[]>();
  for (const operation of history.operations) {
    const known = groups.get(operation.reference);
    if (known) known.push(operation);
    else groups.set(operation.reference, [operation]);
  }
  return [...groups].map(([reference, operations]) => ({
    reference,
    operations,
    attempts: operations.flatMap(({ attempts }) => attempts),
  }));
}

function outlivesRetention(contract: Contract, { attempts }: OperationRecord): boolean {
  return withinRetention(contract, { attempts }).length < attempts.length;
}

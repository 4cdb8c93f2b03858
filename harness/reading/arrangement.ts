/** Attempts grouped by effective key and by operation. */
import type { History, KeyGroup, OperationRecord, Recorded } from "../history.ts";

export type LaidOut = Pick<History, "attempts" | "groups" | "operations">;

export function arranged(attempts: readonly Recorded[]): LaidOut {
  return { attempts, groups: groupsOf(attempts), operations: operationsOf(attempts) };
}

function groupsOf(attempts: readonly Recorded[]): readonly KeyGroup[] {
  const byKey = new Map<string, (KeyGroup & { attempts: Recorded[] })[]>();
  const groups: KeyGroup[] = [];
  for (const recorded of attempts) {
    const { key, caller, endpoint, query } = recorded.attempt;
    if (key === null) continue;
    let ofKey = byKey.get(key);
    if (ofKey === undefined) {
      ofKey = [];
      byKey.set(key, ofKey);
    }
    const known = ofKey.find((one) => one.caller === caller && one.endpoint === endpoint && one.query === query);
    if (known) {
      known.attempts.push(recorded);
      continue;
    }
    const group = { key, caller, endpoint, query, attempts: [recorded] };
    ofKey.push(group);
    groups.push(group);
  }
  return groups;
}

function operationsOf(attempts: readonly Recorded[]): readonly OperationRecord[] {
  const operations = new Map<string, OperationRecord & { attempts: Recorded[] }>();
  for (const recorded of attempts) {
    const { operation, reference } = recorded.attempt;
    const known = operations.get(operation);
    if (known) known.attempts.push(recorded);
    else operations.set(operation, { operation, reference, attempts: [recorded] });
  }
  return [...operations.values()];
}

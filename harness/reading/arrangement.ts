/** Attempts grouped by effective key and by operation. */
import type { History, KeyGroup, OperationRecord, Recorded } from "../history.ts";
import type { Attempt } from "../operation.ts";

export type LaidOut = Pick<History, "attempts" | "groups" | "operations">;

type Growing<Group> = Omit<Group, "attempts" | "kinds" | "lastAt"> & {
  readonly attempts: Recorded[];
  readonly kinds: Attempt[];
  lastAt: number;
};
type GrowingGroup = Growing<KeyGroup>;
type GrowingOperation = Growing<OperationRecord>;

/** `subjects`: by attempt, a number that those have in common which differ in id, replica, times and outcome alone. */
export function arranged(attempts: readonly Recorded[], subjects: readonly number[]): LaidOut {
  const groups: GrowingGroup[] = [];
  const operations = new Map<string, GrowingOperation>();
  const byKey = new Map<string, GrowingGroup[]>();
  // All attempts of one subject belong to the same group, so it is looked for once.
  const groupOf: (GrowingGroup | null)[] = [];
  const operationOf: GrowingOperation[] = [];
  attempts.forEach((recorded, index) => {
    const subject = subjects[index] ?? 0;
    let operation = operationOf[subject];
    let group = groupOf[subject];
    if (operation === undefined || group === undefined) {
      const { attempt } = recorded;
      operation = operationIn(operations, attempt);
      group = groupIn(groups, byKey, attempt);
      operationOf[subject] = operation;
      groupOf[subject] = group;
    }
    join(operation, recorded);
    if (group !== null) join(group, recorded);
  });
  return { attempts, groups, operations: [...operations.values()] };
}

function join(together: GrowingGroup | GrowingOperation, recorded: Recorded): void {
  const { invokedAt, completedAt } = recorded;
  together.attempts.push(recorded);
  together.lastAt = Math.max(together.lastAt, completedAt === Infinity ? invokedAt : completedAt);
}

/** With one more kind. */
function operationIn(operations: Map<string, GrowingOperation>, attempt: Attempt): GrowingOperation {
  const { operation, reference } = attempt;
  const known = operations.get(operation);
  if (known !== undefined) {
    known.kinds.push(attempt);
    return known;
  }
  const begun: GrowingOperation = { operation, reference, attempts: [], kinds: [attempt], lastAt: -Infinity };
  operations.set(operation, begun);
  return begun;
}

/** With one more kind; null: without a key. */
function groupIn(groups: GrowingGroup[], byKey: Map<string, GrowingGroup[]>, attempt: Attempt): GrowingGroup | null {
  const { key, caller, endpoint, query } = attempt;
  if (key === null) return null;
  const ofKey = byKey.get(key);
  const known = ofKey?.find((one) => one.caller === caller && one.endpoint === endpoint && one.query === query);
  if (known !== undefined) {
    known.kinds.push(attempt);
    return known;
  }
  const group: GrowingGroup = { key, caller, endpoint, query, attempts: [], kinds: [attempt], lastAt: -Infinity };
  if (ofKey === undefined) byKey.set(key, [group]);
  else ofKey.push(group);
  groups.push(group);
  return group;
}

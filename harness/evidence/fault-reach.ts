/**
 * Which attempts a fault can explain. One that strikes a single operation explains nothing of others, one that
 * strikes a replica explains what went through that replica; an excuse that reaches further hides defects.
 */
import { NETWORK_FAULTS } from "../fault.ts";
import type { FaultWindow, History, OperationRecord, Recorded } from "../history.ts";
import type { Attempt, Micros } from "../operation.ts";
import { keyText } from "./key-scope.ts";
import { countUntil, lastTouching, type Span, type Spans, spansOf } from "./spans.ts";

export interface FaultReach {
  /** The last time, touching the attempt's own, in which a fault could reach it or had not been over for long. */
  lastTouching(recorded: Recorded): Span | null;
  /**
   * The last moment, between two attempts of one operation, at which a fault may have taken away the holder of
   * their key; null where none can have. From then on the key is bound to resolve.
   */
  lastHolderLostAt(first: Recorded, last: Recorded): Micros | null;
}

/** What a fault did to a target is not over at the moment when it is healed. */
const AFTERMATH_MS = 2_000;

/**
 * `operation`: its own operation. `replica`: what goes through its replica, and keys that were in use there when
 * it struck, since the replica may hold locks that others wait for. Anything else reaches everybody.
 */
type Reach = "operation" | "replica" | "everybody";

function reachOf({ fault, operation, replica }: FaultWindow): Reach {
  switch (fault) {
    case "delay":
    case "throw":
    case "hang":
    case "processor":
      return operation === null ? "everybody" : "operation";
    case "pause-replica":
    case "kill-replica":
    case "stop-replica":
    case "redeploy":
    case "skewed-clock":
      return replica === null ? "everybody" : "replica";
    default:
      return NETWORK_FAULTS.some((name) => name === fault) && replica !== null ? "replica" : "everybody";
  }
}

/** Takes away the holders of its first moment; who becomes a holder later is not touched by it. */
const STRIKES_ONCE: readonly string[] = [
  "delay",
  "throw",
  "hang",
  "pause-replica",
  "kill-replica",
  "stop-replica",
  "redeploy",
  "skewed-clock",
];

const known = new WeakMap<History, FaultReach>();

/** Arranged once for each history. */
export function faultReach(history: History): FaultReach {
  const reach = known.get(history) ?? arranged(history);
  known.set(history, reach);
  return reach;
}

interface Struck {
  readonly everybody: FaultWindow[];
  readonly byReplica: Map<number, FaultWindow[]>;
  /** By the key, or the operation of attempts without one. */
  readonly bySubject: Map<string, FaultWindow[]>;
}

function arranged(history: History): FaultReach {
  if (history.faults.length === 0) return { lastTouching: () => null, lastHolderLostAt: () => null };
  const struck = arrangedWindows(history);
  const excused = { everybody: spans(struck.everybody, atWork), ...mapsOf(struck, atWork) };
  const losing = { everybody: spans(struck.everybody, takesHolders), ...mapsOf(struck, takesHolders) };
  const subject = (one: Recorded): string => subjectOf(history, one.attempt);
  return {
    lastTouching(recorded) {
      const { replica } = recorded.attempt;
      return lastOf([
        lastTouching(excused.everybody, recorded),
        lastTouching(excused.byReplica.get(replica) ?? [], recorded),
        lastTouching(excused.bySubject.get(subject(recorded)) ?? [], recorded),
      ]);
    },
    lastHolderLostAt(first, last) {
      const between = { invokedAt: first.invokedAt, completedAt: last.invokedAt };
      const found = lastOf([
        lastTouching(losing.everybody, between),
        lastTouching(losing.byReplica.get(first.attempt.replica) ?? [], between),
        lastTouching(losing.byReplica.get(last.attempt.replica) ?? [], between),
        lastTouching(losing.bySubject.get(subject(first)) ?? [], between),
      ]);
      return found === null ? null : found.until;
    },
  };
}

function atWork({ from, until }: FaultWindow): readonly Span[] {
  return [{ from, until: until + AFTERMATH_MS * 1000 }];
}

function takesHolders({ fault, from, struckAt, until }: FaultWindow): readonly Span[] {
  return [{ from, until: STRIKES_ONCE.includes(fault) ? struckAt : until }];
}

function spans(windows: readonly FaultWindow[], spanOf: (window: FaultWindow) => readonly Span[]): Spans {
  return spansOf(windows.flatMap(spanOf));
}

function mapsOf(
  { byReplica, bySubject }: Struck,
  spanOf: (window: FaultWindow) => readonly Span[],
): { readonly byReplica: ReadonlyMap<number, Spans>; readonly bySubject: ReadonlyMap<string, Spans> } {
  // A key that is used on a replica after that was struck is not the one that was held there.
  const ofReplica = (window: FaultWindow): readonly Span[] =>
    spanOf === takesHolders && STRIKES_ONCE.includes(window.fault) ? [] : spanOf(window);
  return {
    byReplica: new Map([...byReplica].map(([replica, windows]) => [replica, spans(windows, ofReplica)])),
    bySubject: new Map([...bySubject].map(([subject, windows]) => [subject, spans(windows, spanOf)])),
  };
}

function arrangedWindows(history: History): Struck {
  const struck: Struck = { everybody: [], byReplica: new Map(), bySubject: new Map() };
  const operations = new Map(history.operations.map((one) => [one.operation, one]));
  for (const window of [...history.faults].sort((one, other) => one.from - other.from)) {
    const reach = reachOf(window);
    if (reach === "everybody") struck.everybody.push(window);
    if (reach === "replica" && window.replica !== null) add(struck.byReplica, window.replica, window);
    const own = window.operation === null ? undefined : operations.get(window.operation);
    if (reach !== "everybody" && own !== undefined) {
      for (const subject of subjectsOf(history, own)) add(struck.bySubject, subject, window);
    }
  }
  for (const { attempt, invokedAt, completedAt } of history.attempts) {
    const windows = struck.byReplica.get(attempt.replica) ?? [];
    for (let next = countUntil(windows, invokedAt, ({ struckAt }) => struckAt); next < windows.length; next += 1) {
      const window = windows[next];
      if (window === undefined || window.from >= completedAt) break;
      add(struck.bySubject, subjectOf(history, attempt), window);
    }
  }
  return struck;
}

function subjectsOf(history: History, { attempts }: OperationRecord): ReadonlySet<string> {
  return new Set(attempts.map(({ attempt }) => subjectOf(history, attempt)));
}

function subjectOf({ contract }: History, { key, operation }: Attempt): string {
  return key === null ? `operation ${operation}` : `key ${keyText(contract, key)}`;
}

function add<Name>(lists: Map<Name, FaultWindow[]>, name: Name, window: FaultWindow): void {
  const known = lists.get(name);
  if (known) known.push(window);
  else lists.set(name, [window]);
}

function lastOf(found: readonly (Span | null)[]): Span | null {
  let last: Span | null = null;
  for (const span of found) if (span !== null && (last === null || span.until > last.until)) last = span;
  return last;
}

/** The moment at which the attempt's process was killed, or null. Whatever the attempt did was done by then. */
export function killedAt(history: History, { attempt, invokedAt }: Recorded): Micros | null {
  const kills = killsOf(history).get(attempt.replica) ?? [];
  return kills[countUntil(kills, invokedAt, ({ struckAt }) => struckAt)]?.struckAt ?? null;
}

const kills = new WeakMap<History, ReadonlyMap<number, readonly FaultWindow[]>>();

function killsOf(history: History): ReadonlyMap<number, readonly FaultWindow[]> {
  const arrangedBefore = kills.get(history);
  if (arrangedBefore !== undefined) return arrangedBefore;
  const byReplica = new Map<number, FaultWindow[]>();
  for (const window of history.faults) {
    if (window.fault === "kill-replica" && window.replica !== null) add(byReplica, window.replica, window);
  }
  for (const windows of byReplica.values()) windows.sort((one, other) => one.struckAt - other.struckAt);
  kills.set(history, byReplica);
  return byReplica;
}

/**
 * The cells of the fault grid: what can strike an operation at a phase. A cell says how it is played, and what
 * the target and the lab must have for it.
 */
import type { FaultStep, Placement } from "./fault.ts";
import type { Endpoint, PlanContext } from "./scenario.ts";

export interface Cell {
  readonly name: string;
  /**
   * `alone`: healed before the next one strikes. `held`: stays at work for longer than the lease, while the other
   * replica goes on. `own`: felt by its own operation only.
   */
  readonly kind: "alone" | "held" | "own";
  isPossible(context: PlanContext, endpoint: Endpoint): boolean;
  step(at: Placement, leaseMs: number): FaultStep;
}

/** How much longer than a lease a holder is kept from its work. */
const BEYOND_LEASE_MS = 300;

export const killed: Cell = {
  name: "the replica is killed",
  kind: "alone",
  isPossible: ({ canKill }) => canKill,
  step: (at) => ({ fault: "kill-replica", at }),
};

export const frozen: Cell = {
  name: "the replica is frozen beyond the lease",
  kind: "held",
  isPossible: ({ canPause }) => canPause,
  step: (at) => ({ fault: "pause-replica", at }),
};

export const delayed: Cell = {
  name: "the handler is delayed beyond the lease",
  kind: "own",
  isPossible: () => true,
  step: (at, leaseMs) => ({ fault: "delay", ms: leaseMs + BEYOND_LEASE_MS, at }),
};

export const failing: Cell = {
  name: "the handler fails",
  kind: "own",
  isPossible: () => true,
  step: (at) => ({ fault: "throw", at }),
};

export const hanging: Cell = {
  name: "the handler never ends",
  kind: "own",
  isPossible: () => true,
  step: (at) => ({ fault: "hang", at }),
};

export const sessionsEnded: Cell = {
  name: "the database ends its sessions",
  kind: "alone",
  isPossible: ({ hasDatabase }) => hasDatabase,
  step: (at) => ({ fault: "sessions-ended", at }),
};

export const databaseCrashed: Cell = {
  name: "the database crashes and recovers",
  kind: "alone",
  isPossible: ({ hasDatabase }) => hasDatabase,
  step: (at) => ({ fault: "database-crash", at }),
};

/** Every fault that needs no network between the parts. */
export const localCells: readonly Cell[] = [killed, frozen, delayed, failing, hanging, sessionsEnded, databaseCrashed];

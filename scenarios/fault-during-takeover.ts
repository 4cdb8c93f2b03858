/** The holder is gone for good and its lease is over; what strikes the one who takes over must not strand the key. */

import type { FaultStep } from "../harness/fault.ts";
import { localCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";
import { underAll } from "../harness/plan.ts";

/** Long enough for the attempt to reach the failpoint at which it then stays. */
const HOLDER_MS = 250;

export default faultsAt({
  id: "fault-during-takeover",
  phases: ["taking-over"],
  when: "during a takeover",
  cells: localCells,
  before: (operations, leaseMs) => [
    ...underAll(
      operations.map(({ operation }): FaultStep => ({ fault: "hang", at: { operation, phase: "claimed", pass: 1 } })),
      [{ do: "start", attempts: operations.map((plan) => ({ ...plan, abortAfterMs: HOLDER_MS })) }, { do: "join" }],
    ),
    { do: "wait", ms: leaseMs },
  ],
});

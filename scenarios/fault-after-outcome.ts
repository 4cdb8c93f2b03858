/** The outcome is on record: whoever takes over must not call again, and must finish. */
import { localCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";

export default faultsAt({
  id: "fault-after-outcome",
  phases: ["outcome-recorded"],
  when: "between the recorded outcome and completion",
  cells: localCells,
});

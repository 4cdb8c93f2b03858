/** Both halves are written and not committed: both must be there afterwards, or neither. */
import { localCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";

export default faultsAt({
  id: "fault-before-commit",
  phases: ["before-commit"],
  when: "before the commit",
  cells: localCells,
});

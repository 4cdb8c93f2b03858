/** Nothing is written yet: whatever strikes here must leave no trace of the key. */
import { localCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";

export default faultsAt({
  id: "fault-before-claim",
  phases: ["before-claim"],
  when: "before the claim",
  cells: localCells,
});

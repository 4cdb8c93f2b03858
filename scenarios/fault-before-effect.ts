/** The work is done and the transaction has begun; its effect must not be half there. */
import { localCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";

export default faultsAt({
  id: "fault-before-effect",
  phases: ["before-effect"],
  when: "before the effect",
  cells: localCells,
});

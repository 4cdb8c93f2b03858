/** The processor declines, fails, falls silent or answers late, before and after it has charged. */
import { processorCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";

export default faultsAt({
  id: "processor-faults",
  phases: "anywhere",
  when: "of the processor",
  cells: processorCells,
});

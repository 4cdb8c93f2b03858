/** The effect is written in a transaction whose other half, the completed record, is not. */
import { localCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";

export default faultsAt({
  id: "fault-before-completion",
  phases: ["before-completion"],
  when: "between effect and completed record",
  cells: localCells,
});

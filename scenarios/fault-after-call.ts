/** The processor has charged and the target has not written it down: the moment at which charges are doubled. */
import { localCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";

export default faultsAt({
  id: "fault-after-call",
  phases: ["downstream-called"],
  when: "between the downstream call and its record",
  cells: localCells,
});

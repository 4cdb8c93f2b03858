/** The intent is on record and the processor was not called: whoever takes over must ask before it calls. */
import { localCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";

export default faultsAt({
  id: "fault-after-intent",
  phases: ["intent-recorded"],
  when: "between the recorded intent and the downstream call",
  cells: localCells,
});

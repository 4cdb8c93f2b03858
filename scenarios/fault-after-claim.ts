/** The key is claimed and nothing was executed: the claim of a dead holder must not keep the key for ever. */
import { localCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";

export default faultsAt({
  id: "fault-after-claim",
  phases: ["claimed"],
  when: "between claim and execution",
  cells: localCells,
});

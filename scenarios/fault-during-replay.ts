/** The operation is long done; what strikes while its answer is given again must not make it be done again. */
import { localCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";

export default faultsAt({
  id: "fault-during-replay",
  phases: ["replaying"],
  when: "during a replay",
  cells: localCells,
  before: (operations) => [{ do: "send", attempts: operations }],
});

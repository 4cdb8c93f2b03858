/** Executed and recorded, and nobody was told: the retry must replay and must not execute. */
import { localCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";

export default faultsAt({
  id: "fault-after-commit",
  phases: ["committed"],
  when: "after the commit and before the answer",
  cells: localCells,
});

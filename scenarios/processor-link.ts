/** The link to the processor fails when the call is due: nobody knows then whether it was carried out. */
import { processorLinkCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";

export default faultsAt({
  id: "processor-link",
  phases: ["intent-recorded"],
  when: "of the link to the processor",
  cells: processorLinkCells,
  usesLinks: true,
});

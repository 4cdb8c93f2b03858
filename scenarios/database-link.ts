/** The link to the database fails at the moments that matter: before the claim, after it, and around the commit. */
import { databaseLinkCells } from "../harness/fault-cells.ts";
import { faultsAt } from "../harness/fault-grid.ts";

export default faultsAt({
  id: "database-link",
  phases: ["before-claim", "claimed", "before-completion", "before-commit"],
  when: "of the link to the database",
  cells: databaseLinkCells,
  usesLinks: true,
  together: true,
});

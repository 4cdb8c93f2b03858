/** A statement takes longer than the database lets it (57014). Nothing of its transaction happened. */
import { databaseError } from "./database-error.ts";

export const statementTimeout = databaseError("statement-timeout", {
  sqlState: "57014",
  message: "canceling statement due to statement timeout",
});

/** The transaction is the one that the database gives up to resolve a deadlock (40P01). Nothing of it happened. */
import { databaseError } from "./database-error.ts";

export const deadlock = databaseError("deadlock", { sqlState: "40P01", message: "deadlock detected" });

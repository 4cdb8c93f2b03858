/** Two transactions could not be put into an order (40001). The database says: nothing happened, try again. */
import { databaseError } from "./database-error.ts";

export const serializationFailure = databaseError("serialization-failure", {
  sqlState: "40001",
  message: "could not serialize access due to concurrent update",
});

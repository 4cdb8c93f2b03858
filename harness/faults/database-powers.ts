/** The lab's powers over the target's database, or the error that says why there are none. */
import { Failure } from "../fail.ts";
import type { DatabasePowers, Surroundings } from "../fault.ts";

export function databasePowers({ powers: { database } }: Surroundings): DatabasePowers {
  if (database === undefined) throw new Failure("usage", "the target does not use the lab's database (${postgres})");
  return database;
}

/** A statement of the target fails once with an error that the database reports; each has a file of its own. */
import type { DatabaseError, DatabaseFault, Fault, StepOf } from "../fault.ts";
import { databasePowers } from "./database-powers.ts";

export function databaseError<Name extends DatabaseFault>(id: Name, error: DatabaseError): Fault<StepOf<Name>> {
  return {
    id,

    prepare: (_step, surroundings) => databasePowers(surroundings).readyToFail(error),

    async inject(_step, surroundings) {
      const heal = await databasePowers(surroundings).failOnce();
      return { heal };
    },
  };
}

/**
 * Broken surroundings and wrong usage, as opposed to findings: thrown, with a code that decides the exit
 * status and a message that says what was found, what was expected and what to do.
 */
export type FailureCode =
  /** The command line or a file the user wrote is wrong. */
  | "usage"
  /** The target, the database or another part of the surroundings does not come up. */
  | "not-ready"
  /** A part that only some targets need is nowhere to be had: the target is skipped, visibly. */
  | "unavailable"
  /** What was up went away. */
  | "target-lost";

export class Failure extends Error {
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Failure";
    this.code = code;
  }
}

export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}

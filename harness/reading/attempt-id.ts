/** A run's ids are the scenario's name and a number; kept as a number such an id takes four bytes. */

/** Numbers below this fit into a column. */
export const NUMBERS = 0xffffffff;

export interface NumberedId {
  readonly scenario: string;
  readonly number: number;
}

/** Null: an id of another form, to be kept as it is. In a history that somebody edited it may be no text at all. */
export function numberedId(id: unknown): NumberedId | null {
  if (typeof id !== "string") return null;
  const at = id.lastIndexOf("#");
  if (at < 0) return null;
  const digits = id.slice(at + 1);
  const number = Number(digits);
  return number >= 0 && number < NUMBERS && Number.isInteger(number) && String(number) === digits
    ? { scenario: id.slice(0, at), number }
    : null;
}

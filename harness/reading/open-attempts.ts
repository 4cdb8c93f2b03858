/** Where the attempts are that were invoked and have not completed, by id. */
import { numberedId } from "./attempt-id.ts";
import type { AttemptTable } from "./attempt-table.ts";

export interface Place {
  readonly attempts: AttemptTable;
  readonly row: number;
}

export class OpenAttempts {
  /** By scenario, then by number. */
  readonly #numbered = new Map<string, Map<number, Place>>();
  readonly #others = new Map<string, Place>();

  /** Those whose id is the scenario's name and a number. */
  numberedIn(scenario: string): Map<number, Place> {
    const known = this.#numbered.get(scenario) ?? new Map<number, Place>();
    this.#numbered.set(scenario, known);
    return known;
  }

  /** An earlier attempt with the same id that is still open is given up. */
  add(id: string, place: Place): void {
    const numbered = numberedId(id);
    if (numbered === null) enter(this.#others, id, place);
    else enter(this.numberedIn(numbered.scenario), numbered.number, place);
  }

  get(id: string): Place | undefined {
    const numbered = numberedId(id);
    return numbered === null ? this.#others.get(id) : this.numberedIn(numbered.scenario).get(numbered.number);
  }

  delete(id: string): void {
    const numbered = numberedId(id);
    if (numbered === null) this.#others.delete(id);
    else this.numberedIn(numbered.scenario).delete(numbered.number);
  }
}

export function enter<Id>(open: Map<Id, Place>, id: Id, place: Place): void {
  const before = open.get(id);
  if (before !== undefined) before.attempts.drop(before.row);
  open.set(id, place);
}

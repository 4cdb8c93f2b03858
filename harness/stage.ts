/** Everything a plan is played on: the running target, its books, the clock and the journal. */
import type { StageName } from "./event.ts";
import type { Journal } from "./journal.ts";
import type { RunningTarget } from "./lab/lab.ts";
import type { Micros } from "./operation.ts";
import type { BooksProbe } from "./probes/books.ts";
import type { Target } from "./target.ts";

export interface Stage {
  readonly name: StageName;
  readonly runId: string;
  readonly target: Target;
  readonly running: RunningTarget;
  readonly journal: Journal;
  readonly books: BooksProbe;
  readonly secrets: readonly string[];
  readonly now: () => Micros;
  /** The run is to stop. */
  readonly signal: AbortSignal;
  /** How long an answer is waited for. */
  readonly timeoutMs: number;
  /** Keys that were sent, to find their records. */
  readonly keys: Set<string>;
}

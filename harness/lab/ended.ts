/** That something the lab started has ended, in words, or null while it runs. */
import type { KeptProcess } from "./keeper.ts";

export function endOf(name: string, { exit, log }: KeptProcess): string | null {
  return exit === null
    ? null
    : `${name} ended with ${exit.signal ?? `exit code ${exit.code}`} (its output is in ${log})`;
}

/** What became of the keys, in words: one line of counts, and one for each that nobody can resolve. */
import type { Report } from "../report.ts";

type Reconciled = Report["reconciliation"];

/** What went wrong is named though it did not. */
export function countsText({ counts, notCompared, reason }: Reconciled): string {
  if (reason !== null) return `not reconciled: ${reason}`;
  const words = Object.entries(counts).map(([name, count]) => `${count} ${name.replaceAll("-", " ")}`);
  return [...words, ...(notCompared > 0 ? [`${notCompared} beyond retention`] : [])].join(", ");
}

export function knownText({ lastAnswer, effects, charges, record }: Reconciled["unresolved"][number]): string {
  const charged = charges === null ? "" : `${charges} charge(s), `;
  return `last answer ${lastAnswer}; ${effects} effect(s), ${charged}record ${record ?? "none"}`;
}

/** The recipe of a run that was asked for on the command line. */
import { join, relative } from "node:path";
import type { RunSize } from "../plan-context.ts";
import { digestOf, type Recipe, type Source } from "../recipe.ts";
import type { Target } from "../target.ts";
import { ownCommand, shellWord } from "./options.ts";
import { headerArguments } from "./target-source.ts";

export function recipeOf(
  target: Target,
  source: Source,
  { size, timeoutMs, directory }: { readonly size: RunSize; readonly timeoutMs: number; readonly directory: string },
): Recipe {
  const report = relative(process.cwd(), join(directory, "report.json"));
  const words = [...(source.kind === "direct" ? headerArguments(source) : []), report];
  return {
    source,
    digest: digestOf(target),
    size,
    timeoutMs,
    command: [ownCommand("replay"), ...words.map(shellWord)].join(" "),
  };
}

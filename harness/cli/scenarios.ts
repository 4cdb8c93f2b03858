/** Finds the scenarios by their folder: a new one is a new file and nothing else. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Failure } from "../fail.ts";
import type { Scenario } from "../scenario.ts";
import { packageRoot } from "./package.ts";

const FOLDER = join(packageRoot, "dist", "scenarios");

/** All of them in the order of their names, or those whose id is in `only`. */
export async function loadScenarios(only: readonly string[] = []): Promise<readonly Scenario[]> {
  const files = (await readdir(FOLDER)).filter((name) => name.endsWith(".js") && !name.endsWith(".test.js")).sort();
  const scenarios = await Promise.all(files.map(load));
  const unknown = only.filter((id) => !scenarios.some((scenario) => scenario.id === id));
  if (unknown.length > 0) {
    throw new Failure(
      "usage",
      `--only: found ${unknown.join(", ")}, expected scenarios out of\n  ${scenarios.map(({ id }) => id).join("\n  ")}`,
    );
  }
  return only.length === 0 ? scenarios : scenarios.filter(({ id }) => only.includes(id));
}

async function load(file: string): Promise<Scenario> {
  const module = (await import(pathToFileURL(join(FOLDER, file)).href)) as { default?: Scenario };
  if (module.default?.id !== file.replace(/\.js$/, "")) throw new Error(`scenarios/${file} has no scenario of that id`);
  return module.default;
}

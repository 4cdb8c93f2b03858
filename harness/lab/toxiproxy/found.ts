/** Is a program there? Asked before it is started, so that one that is missing leaves no log and no words of spawn. */
import { access, constants } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type { Workshop } from "./launch.ts";

/** Throws when the file is not there to be started. `file` is a path, or a name that is looked for on PATH. */
export async function mustBeFound(file: string, env: Workshop["env"]): Promise<void> {
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const places = isAbsolute(file) ? [file] : folders.map((folder) => join(folder, file));
  for (const place of places) if (await isExecutable(place)) return;
  throw new Error("there is none");
}

async function isExecutable(place: string): Promise<boolean> {
  try {
    await access(place, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

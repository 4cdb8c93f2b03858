/** Where this package lies, built or installed, and which version it is. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** `dist/harness/cli` is three levels below. */
export const packageRoot = join(import.meta.dirname, "..", "..", "..");

export const { version } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as { version: string };

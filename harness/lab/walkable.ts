/** Which places other users get to. */
import { statSync } from "node:fs";
import { dirname } from "node:path";

/** Can every user walk down to it? */
export function isWalkable(path: string): boolean {
  if ((statSync(path).mode & 0o001) === 0) return false;
  return path === dirname(path) || isWalkable(dirname(path));
}

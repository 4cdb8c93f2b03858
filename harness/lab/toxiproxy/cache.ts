/** Where a server that was built or downloaded is kept for later runs. */
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { Workshop } from "./launch.ts";
import { TOXIPROXY_VERSION } from "./server.ts";

/** A home may be shared by machines of several kinds. */
export function cachedServer(env: Workshop["env"]): string {
  const wished = env["XDG_CACHE_HOME"] ?? "";
  const base = isAbsolute(wished) ? wished : join(env["HOME"] || homedir(), ".cache");
  const machine = `${process.platform}-${process.arch}`;
  return join(base, "idemproof", `toxiproxy-${TOXIPROXY_VERSION}`, machine, "toxiproxy-server");
}

/**
 * `make` puts a server somewhere into a directory of its own beside the cached one and says where; it is moved into
 * place whole, in one step. So runs at the same time do not see each other's work, and the keeper removes what a run
 * that was ended has left.
 */
export async function cache({ keeper, env }: Workshop, make: (directory: string) => Promise<string>): Promise<string> {
  const place = cachedServer(env);
  await mkdir(dirname(place), { recursive: true });
  const directory = await mkdtemp(join(dirname(place), "making-"));
  await keeper.removeAtEnd(directory);
  try {
    await rename(await make(directory), place);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  return place;
}

/**
 * Removes the containers of one run, as a process that the keeper starts at the end. When it cannot, the last
 * line it writes is the reason.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../fail.ts";
import { LABEL } from "./container.ts";
import { engine } from "./testcontainers.ts";

const [, , label = "", directory = ""] = process.argv;
try {
  // Where no engine was found, none can have been given a container.
  if (existsSync(join(directory, "engine-found"))) await remove(label);
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}

/** By label, not by id: the harness may have been killed before it knew one. */
async function remove(run: string): Promise<void> {
  const containers = await engine();
  const found = await containers.listContainers({ all: true, filters: { label: [`${LABEL}=${run}`] } });
  await Promise.all(found.map(({ Id }) => containers.getContainer(Id).remove({ force: true, v: true })));
}

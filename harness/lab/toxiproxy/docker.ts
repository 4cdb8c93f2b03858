/** The server in a container of the host's own network, so that it reaches what listens on loopback, and is reached. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { mustBeFound } from "./found.ts";
import { launch, type Workshop } from "./launch.ts";
import { TOXIPROXY_VERSION, type ToxiproxyServer } from "./server.ts";

export const TOXIPROXY_IMAGE = `ghcr.io/shopify/toxiproxy:${TOXIPROXY_VERSION}`;

const ENGINE_MS = 5_000;
/** The image has 20 MB. */
const PULL_MS = 120_000;

export async function startInDocker(workshop: Workshop): Promise<ToxiproxyServer> {
  await mustBeFound("docker", workshop.env);
  await docker(workshop, ENGINE_MS, "version");
  if (!(await isPresent(workshop))) {
    workshop.onStep(`pulling ${TOXIPROXY_IMAGE}, once`);
    await docker(workshop, PULL_MS, "pull", "--quiet", TOXIPROXY_IMAGE);
  }
  const run = ["run", "--rm", "--network", "host", "--env", "LOG_LEVEL", TOXIPROXY_IMAGE];
  return launch(workshop, {
    origin: "in Docker",
    command: (flags) => ({ file: "docker", args: [...run, ...flags] }),
  });
}

async function isPresent(workshop: Workshop): Promise<boolean> {
  try {
    await docker(workshop, ENGINE_MS, "image", "inspect", TOXIPROXY_IMAGE);
    return true;
  } catch {
    workshop.signal.throwIfAborted();
    return false;
  }
}

async function docker({ env, signal }: Workshop, timeout: number, ...args: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)("docker", [...args], { env, signal, timeout });
  } catch (error) {
    throw new Error(reasonOf(error, timeout), { cause: error });
  }
}

function reasonOf(error: unknown, timeout: number): string {
  const { killed, stderr } = error as { killed?: boolean; stderr?: string };
  if (killed) return `the engine took longer than ${timeout / 1_000} s`;
  return stderr?.trim().split("\n").at(-1)?.trim() || "docker failed without a word";
}

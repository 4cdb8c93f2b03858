/**
 * Toxiproxy in a container of the run's own, on the host's network.
 *
 * Links are made while a run goes on, on ports that are not known when the container is created, and lead to
 * targets and databases that listen on loopback only. On a network of its own neither would work: published ports
 * are fixed at creation, and the host's loopback cannot be reached from there. testcontainers' way around it is a
 * tunnel through SSH, which would turn a reset into something else on its way. So the engine must give containers
 * the network of this machine: on Linux it does, on Docker Desktop it is a setting.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../fail.ts";
import { sendOnce } from "../send-once.ts";
import { startContainer } from "./container.ts";
import { type Keeper, type KeptProcess, lastLines } from "./keeper.ts";
import { freePort, isPortTaken, START_TRIES } from "./port.ts";
import type { ServiceOptions } from "./postgres.ts";

const IMAGE = "ghcr.io/shopify/toxiproxy:2.12.0";
const VARIABLE = "IDEMPROOF_TOXIPROXY_IMAGE";
const READY_MS = 20_000;
/** One look at it. */
const LOOK_MS = 1_000;
const BETWEEN_LOOKS_MS = 25;

/** The URL of its API. Links that are made listen on this machine's loopback. */
export async function toxiproxyInContainer(keeper: Keeper, logs: string, options: ServiceOptions): Promise<string> {
  const log = join(logs, "toxiproxy.log");
  const image = process.env[VARIABLE] || IMAGE;
  const common = { image, variable: VARIABLE, option: "--toxiproxy", log, secrets: options.secrets };
  for (let tries = 1; ; tries += 1) {
    const run = { kind: "toxiproxy", port: await freePort() } as const;
    const { port, process } = await startContainer(keeper, logs, { ...common, run }, options);
    if (await isReady(port, process, options.signal)) return `http://127.0.0.1:${port}`;
    const lines = await lastLines(log);
    // An engine that is busy may also end a container that it has just started.
    if (tries < START_TRIES && (isPortTaken(lines) || process.exit !== null)) continue;
    throw new Failure(
      "not-ready",
      `--toxiproxy container: found nothing that answers at 127.0.0.1:${port}, expected Toxiproxy's API there: the engine must give containers the network of this machine (Docker Desktop: Settings, Resources, Network, Enable host networking), or leave --toxiproxy out; its last lines:\n${lines}`,
    );
  }
}

async function isReady(port: number, process: KeptProcess, signal: AbortSignal): Promise<boolean> {
  const request = { method: "GET", path: "/version", headers: {}, body: "" };
  const end = performance.now() + READY_MS;
  while (process.exit === null && performance.now() < end) {
    const outcome = await sendOnce(new URL(`http://127.0.0.1:${port}`), request, { timeoutMs: LOOK_MS, signal });
    if (outcome.kind === "responded" && outcome.status === 200) return true;
    await sleep(BETWEEN_LOOKS_MS, undefined, { signal });
  }
  return false;
}

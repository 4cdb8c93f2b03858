/** Starts a Toxiproxy server on loopback and waits until it answers. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../fail.ts";
import { endOf } from "../ended.ts";
import { type Keeper, type KeptProcess, lastLines } from "../keeper.ts";
import { freePort, isPortTaken, START_TRIES } from "../port.ts";
import { versionAt } from "./client.ts";
import type { ToxiproxyServer } from "./server.ts";

const READY_MS = 10_000;

/** What it takes to look for a server and to start it. */
export interface Workshop {
  readonly keeper: Keeper;
  /** The folder for logs. */
  readonly logs: string;
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  readonly signal: AbortSignal;
  readonly onStep: (step: string) => void;
}

export interface Launch {
  /** How it was come by; its log is named after it. */
  readonly origin: "on PATH" | "cached" | "built" | "downloaded" | "in Docker";
  command(flags: readonly string[]): { readonly file: string; readonly args: readonly string[] };
}

/** Throws when it does not come up. */
export async function launch(workshop: Workshop, { origin, command }: Launch): Promise<ToxiproxyServer> {
  const { keeper, logs, secrets, signal } = workshop;
  // It logs every connection otherwise.
  const env = { ...workshop.env, LOG_LEVEL: "error" };
  const log = `toxiproxy-${origin.toLowerCase().replace(" ", "-")}`;
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    const started = await keeper.start({
      ...command(["-host", "127.0.0.1", "-port", String(port)]),
      env,
      directory: "/",
      // A log for each try: what an earlier one wrote says nothing of this one.
      log: join(logs, tries === 1 ? `${log}.log` : `${log}-${tries}.log`),
      secrets,
      stopSignal: "SIGTERM",
    });
    const problem = await untilReady(started, port, signal);
    if (problem === null) return serverOf(started, port, origin);
    await started.signal("SIGKILL");
    const lines = await lastLines(started.log);
    if (tries < START_TRIES && isPortTaken(lines)) continue;
    throw new Error(`it does not come up: ${problem}; its last lines:\n${lines}`);
  }
}

/** Null once it answers. A server whose port was taken does not end, and another one may answer there: its log tells. */
async function untilReady(started: KeptProcess, port: number, signal: AbortSignal): Promise<string | null> {
  const end = performance.now() + READY_MS;
  for (;;) {
    try {
      await versionAt(`http://127.0.0.1:${port}`, Math.max(1, Math.ceil(end - performance.now())));
      return isPortTaken(await lastLines(started.log)) ? "its port was taken" : null;
    } catch (error) {
      if (started.exit !== null) return `it ended with ${started.exit.signal ?? `exit code ${started.exit.code}`}`;
      if (performance.now() > end) return messageOf(error);
      if (isPortTaken(await lastLines(started.log))) return "its port was taken";
      await sleep(10, undefined, { signal });
    }
  }
}

function serverOf(started: KeptProcess, port: number, origin: string): ToxiproxyServer {
  return {
    url: `http://127.0.0.1:${port}`,
    listenHost: "127.0.0.1",
    host: "127.0.0.1",
    origin,
    ended: () => endOf("Toxiproxy", started),
  };
}

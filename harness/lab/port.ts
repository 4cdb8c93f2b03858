/** Ports on loopback. */
import { createConnection, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { KeptProcess } from "./keeper.ts";

/** A free one. Another process may take it before it is used; who starts something tries again then. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/** How often something is started on another port when the first one was taken meanwhile. */
export const START_TRIES = 3;

/** Do the last lines of a process say that its port was taken? */
export function isPortTaken(lines: string): boolean {
  return /EADDRINUSE|address already in use|could not bind|port .*in use/i.test(lines);
}

const CONNECT_MS = 1_000;

/** Does something listen there? */
export function accepts(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port, timeout: CONNECT_MS });
    const settle = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once("connect", () => settle(true));
    socket.once("timeout", () => settle(false));
    socket.once("error", () => settle(false));
  });
}

const BETWEEN_LOOKS_MS = 20;

/** Waits until the process listens there. False: it has ended, or does not within `withinMs`. */
export async function isListening(
  process: KeptProcess,
  port: number,
  withinMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (process.exit === null && performance.now() < end) {
    // The answer may have come from another process that had the port first.
    if (await accepts(port)) return process.exit === null;
    await sleep(BETWEEN_LOOKS_MS, undefined, { signal });
  }
  return false;
}

/** The benchmark's side of its target process. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Release } from "./segment-relay.ts";

export interface Ports {
  readonly http: number;
  readonly http2: number;
  /** Leads to the HTTP/2 port and counts segments. */
  readonly relay: number;
}

export interface Noted {
  /** Microseconds at which requests were complete, on the target's clock. */
  readonly arrivals: readonly number[];
  /** Of the HTTP/2 connections that went through the relay. */
  readonly release: Release;
}

export type FromBurstTarget = Noted | { readonly ports: Ports };

export class BurstTarget implements AsyncDisposable {
  readonly ports: Ports;
  readonly #process: ReturnType<typeof fork>;

  private constructor(process: ReturnType<typeof fork>, ports: Ports) {
    this.#process = process;
    this.ports = ports;
  }

  static async start(): Promise<BurstTarget> {
    const child = fork(fileURLToPath(new URL("./burst-target-process.js", import.meta.url)));
    const [message] = (await once(child, "message")) as [FromBurstTarget];
    if (!("ports" in message)) throw new Error("the target process did not tell its ports first");
    return new BurstTarget(child, message.ports);
  }

  url(port: keyof Ports): URL {
    return new URL(`http://127.0.0.1:${this.ports[port]}`);
  }

  /** What the target noted since this was last asked. */
  async take(): Promise<Noted> {
    this.#process.send("take");
    const [message] = (await once(this.#process, "message")) as [FromBurstTarget];
    if ("ports" in message) throw new Error("the target process told its ports twice");
    return message;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#process, "exit");
    this.#process.disconnect();
    await exited;
  }
}

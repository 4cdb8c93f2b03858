/**
 * Speaks to a Toxiproxy server, and no other file does. `toxiproxy-node-client` knows the interface, but its calls
 * have no time limit and it drops the server's reason: it is given an HTTP client that has both.
 *
 * Toxiproxy disturbs TCP connections and cannot say "the second request": who wants one attempt disturbed gives it a
 * connection of its own.
 */
import { randomBytes } from "node:crypto";
import { Toxiproxy as Server, type Proxy as ServerProxy } from "toxiproxy-node-client";
import { HttpClient } from "toxiproxy-node-client/dist/HttpClient.js";
import { Failure, messageOf } from "../../fail.ts";
import type { ToxiproxyServer } from "./server.ts";
import { onTheWire, type Toxic } from "./toxic.ts";

/** A server on loopback answers in a few milliseconds, also while it is busy with connections. */
const CALL_MS = 5_000;

/** Undoes a disturbance. Calling it again does no harm. */
type Cure = () => Promise<void>;

/** A proxy before an address: what connects to `host` and `port` is connected to the upstream. */
export interface Link {
  readonly host: string;
  readonly port: number;
  add(toxic: Toxic): Promise<Cure>;
  /** Nobody can connect, and who is connected is disconnected. */
  cut(): Promise<Cure>;
  close(): Promise<void>;
}

interface LinkOptions {
  /** Letters, digits, dots and dashes; one link of a name at a time. */
  readonly name: string;
  /** `host:port`, as seen from the server. */
  readonly upstream: string;
}

export interface Toxiproxy extends AsyncDisposable {
  readonly url: string;
  readonly origin: string;
  readonly ended: () => string | null;
  openLink(options: LinkOptions): Promise<Link>;
  /** Closes all links that are open. */
  [Symbol.asyncDispose](): Promise<void>;
}

export function linksOf(server: ToxiproxyServer, callMs = CALL_MS): Toxiproxy {
  const api = apiAt(server.url, callMs);
  // A server given by its URL may serve several runs, and each names its links alike.
  const prefix = `idemproof-${randomBytes(4).toString("hex")}-`;
  const open = new Set<Link>();
  return {
    url: server.url,
    origin: server.origin,
    ended: server.ended,
    openLink: async ({ name, upstream }) => {
      if (!/^[\w.-]+$/.test(name)) throw new Error(`"${name}" cannot be part of a path`);
      const listen = `${bracketed(server.listenHost)}:0`;
      const proxy = await api.createProxy({ name: prefix + name, listen, upstream });
      const link = linkOf(proxy, server.host, () => open.delete(link));
      open.add(link);
      return link;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...open].map((link) => link.close()));
    },
  };
}

/** Throws when no Toxiproxy answers there. */
export async function versionAt(url: string, callMs = CALL_MS): Promise<string> {
  const text = await apiAt(url, callMs).getVersion();
  const version = /^\{"version": *"([^"]+)"\}\s*$/.exec(text)?.[1];
  if (version === undefined) throw new Failure("not-ready", `what answers at ${new URL(url).host} is no Toxiproxy`);
  return version;
}

function linkOf(proxy: ServerProxy, host: string, closed: () => void): Link {
  const { listen, upstream } = proxy;
  let added = 0;
  return {
    host,
    port: Number(listen.slice(listen.lastIndexOf(":") + 1)),
    add: async (toxic) => {
      added += 1;
      // Without a name of its own a second toxic of one kind would be refused.
      const name = `${toxic.toxic}-${added}`;
      const found = await proxy.addToxic({ name, stream: toxic.direction, toxicity: 1, ...onTheWire(toxic) });
      return () => unlessGone(found.remove());
    },
    cut: async () => {
      await proxy.update({ enabled: false, listen, upstream });
      return () => unlessGone(proxy.update({ enabled: true, listen, upstream }));
    },
    close: async () => {
      await unlessGone(proxy.remove());
      closed();
    },
  };
}

/**
 * Healing asks that the disturbance is gone, not that it was here to remove it: a toxic, a link or a whole server
 * that has gone took it along, and who still needs that server hears of its end elsewhere. A server that does not
 * answer in time may still disturb, and that is told.
 */
async function unlessGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    const isGone = (error instanceof Refusal && error.status === 404) || error instanceof Unreachable;
    if (!isGone) throw error;
  }
}

/** The server answered, and said no. */
class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;

  constructor(call: string, status: number, reason: string) {
    super(`Toxiproxy refused ${call}: ${reason} (${status})`);
    this.status = status;
  }
}

/** Nothing answered at all. */
class Unreachable extends Failure {}

function apiAt(url: string, callMs: number): Server {
  const api = new Server(url);
  api.api = new LimitedHttpClient(callMs);
  return api;
}

class LimitedHttpClient extends HttpClient {
  readonly #callMs: number;

  constructor(callMs: number) {
    super();
    this.#callMs = callMs;
  }

  override async get<Data>(url: string): Promise<{ data: Data }> {
    return { data: parsed(await this.#ask("GET", url)) };
  }

  override async post<Data>(url: string, body?: unknown): Promise<{ data: Data }> {
    return { data: parsed(await this.#ask("POST", url, body)) };
  }

  override async delete(url: string): Promise<void> {
    await this.#ask("DELETE", url);
  }

  override getText(url: string): Promise<string> {
    return this.#ask("GET", url);
  }

  async #ask(method: string, url: string, body?: unknown): Promise<string> {
    const { host, pathname } = new URL(url);
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const limit = AbortSignal.timeout(this.#callMs);
    try {
      const response = await fetch(url, { ...init, signal: limit });
      const text = await response.text();
      if (response.ok) return text;
      throw new Refusal(`${method} ${pathname}`, response.status, reasonIn(text));
    } catch (error) {
      if (error instanceof Refusal) throw error;
      const call = `${method} ${pathname}`;
      if (limit.aborted) {
        throw new Failure("target-lost", `Toxiproxy at ${host} did not answer ${call} within ${this.#callMs} ms`);
      }
      const reason = messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
      throw new Unreachable("target-lost", `Toxiproxy at ${host} does not answer ${call} (${reason})`, {
        cause: error,
      });
    }
  }
}

function parsed<Data>(text: string): Data {
  return (text === "" ? undefined : JSON.parse(text)) as Data;
}

function reasonIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // Not every error of the server is JSON; then its text is the reason.
  }
  return text.trim().slice(0, 400) || "it gave no reason";
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

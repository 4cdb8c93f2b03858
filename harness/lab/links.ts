/**
 * The links of the faulty copy's replicas that lead through Toxiproxy: from the client to each replica, and from
 * each replica to its database and to the processor. One of each for every replica, so that a fault on one
 * replica is felt by no other.
 */
import type { Cure, FaultyLink, LinkName } from "../fault.ts";
import type { Toxic } from "./toxiproxy/toxic.ts";

/** A proxy: what connects to host and port is led to its upstream. */
export interface ProxyLink {
  readonly host: string;
  readonly port: number;
  add(toxic: Toxic): Promise<Cure>;
  cut(): Promise<Cure>;
}

export interface LinkMaker {
  openLink(link: { readonly name: string; readonly upstream: string }): Promise<ProxyLink>;
}

export class Links {
  readonly #maker: LinkMaker;
  readonly #links = new Map<string, ProxyLink>();

  constructor(maker: LinkMaker) {
    this.#maker = maker;
  }

  /** The same URL by way of a proxy. */
  async through(name: LinkName, replica: number, url: URL): Promise<URL> {
    const link = await this.#maker.openLink({ name: idOf(name, replica), upstream: `${url.hostname}:${portOf(url)}` });
    this.#links.set(idOf(name, replica), link);
    const by = new URL(url);
    by.host = `${link.host}:${link.port}`;
    return by;
  }

  get(name: LinkName, replica: number): FaultyLink | null {
    return this.#links.get(idOf(name, replica)) ?? null;
  }
}

function idOf(name: LinkName, replica: number): string {
  return `${name}-${replica}`;
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443", "postgres:": "5432" };

function portOf({ port, protocol }: URL): string {
  return port || (DEFAULT_PORTS[protocol] ?? "5432");
}

/** Where the lab takes a part from: its own copy, a container, or a server that is already there. */

export type Backend =
  | { readonly kind: "embedded" }
  | { readonly kind: "container" }
  /** The URL may hold a password: never print it whole. */
  | { readonly kind: "url"; readonly url: string };

export interface Backends {
  readonly database: Backend;
  /** Left out: where IDEMPROOF_TOXIPROXY_URL says, else embedded. */
  readonly toxiproxy?: Backend;
}

export const EMBEDDED: Backend = { kind: "embedded" };

/** The URL, where it is one. */
export function urlOf(backend: Backend): readonly string[] {
  return backend.kind === "url" ? [backend.url] : [];
}

/** A Toxiproxy server that runs, however it was come by. */

export interface ToxiproxyServer {
  /** Of its HTTP interface, without a slash at the end. */
  readonly url: string;
  /** Where it listens for the connections of its links. */
  readonly listenHost: string;
  /** Where these are reached from here. */
  readonly host: string;
  /** How it was come by, for people. */
  readonly origin: string;
  /** Says how it ended, or null while it runs. Null always where the harness did not start it. */
  readonly ended: () => string | null;
}

/** The version all of this is written for and tested with. */
export const TOXIPROXY_VERSION = "2.12.0";

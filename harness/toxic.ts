/** What Toxiproxy can do to a connection; facts about each are in its own README. Sizes and times say their unit. */

/** `upstream`: on the way to the server. `downstream`: on the way back. */
export type Direction = "upstream" | "downstream";

export type Toxic = { readonly direction: Direction } & (
  | { readonly kind: "latency"; readonly ms: number; readonly jitterMs: number }
  | { readonly kind: "bandwidth"; readonly kilobytesPerSecond: number }
  | {
      readonly kind: "slicer";
      readonly averageBytes: number;
      readonly sizeVariation: number;
      readonly delayMicros: number;
    }
  | { readonly kind: "slow-close"; readonly ms: number }
  /** Nothing passes; after `ms` the connection is closed, with 0 never. */
  | { readonly kind: "timeout"; readonly ms: number }
  /** At the first byte, or `ms` later, the connection is reset. */
  | { readonly kind: "reset-peer"; readonly ms: number }
  /** After so many bytes the connection is closed. */
  | { readonly kind: "limit-data"; readonly bytes: number }
);

/** A toxic: one disturbance of the bytes of a link, always of all its connections (toxicity 1). */

interface Directed {
  /** `upstream` is what the client sends, `downstream` what it is answered. */
  readonly direction: "upstream" | "downstream";
}

export type Toxic = Directed &
  /** Everything comes later by `ms`, give or take `jitterMs`. */
  (
    | { readonly toxic: "latency"; readonly ms: number; readonly jitterMs: number }
    | { readonly toxic: "bandwidth"; readonly kilobytesPerSecond: number }
    /** Cuts into pieces of `averageBytes`, give or take `sizeVariation`, with a pause after each. */
    | {
        readonly toxic: "slicer";
        readonly averageBytes: number;
        readonly sizeVariation: number;
        readonly delayMicros: number;
      }
    /** The connection is closed later by `ms`. */
    | { readonly toxic: "slow-close"; readonly ms: number }
    /** Nothing passes, and the connection is closed after `ms`; 0: it stays open until the toxic is removed. */
    | { readonly toxic: "timeout"; readonly ms: number }
    /** The connection is reset `ms` after the first byte in this direction. */
    | { readonly toxic: "reset-peer"; readonly ms: number }
    /** The connection is closed after so many bytes. */
    | { readonly toxic: "limit-data"; readonly bytes: number }
  );

interface Wire {
  readonly type: "latency" | "bandwidth" | "slicer" | "slow_close" | "timeout" | "reset_peer" | "limit_data";
  readonly attributes: Readonly<Record<string, number>>;
}

/** The toxic in the words of Toxiproxy's HTTP interface. */
export function onTheWire(toxic: Toxic): Wire {
  switch (toxic.toxic) {
    case "latency":
      return { type: "latency", attributes: { latency: toxic.ms, jitter: toxic.jitterMs } };
    case "bandwidth":
      return { type: "bandwidth", attributes: { rate: toxic.kilobytesPerSecond } };
    case "slicer": {
      const { averageBytes, sizeVariation, delayMicros } = toxic;
      const attributes = { average_size: averageBytes, size_variation: sizeVariation, delay: delayMicros };
      return { type: "slicer", attributes };
    }
    case "slow-close":
      return { type: "slow_close", attributes: { delay: toxic.ms } };
    case "timeout":
      return { type: "timeout", attributes: { timeout: toxic.ms } };
    case "reset-peer":
      return { type: "reset_peer", attributes: { timeout: toxic.ms } };
    case "limit-data":
      return { type: "limit_data", attributes: { bytes: toxic.bytes } };
  }
}

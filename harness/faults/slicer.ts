/** What is sent arrives in small pieces with pauses between them. */
import { networkFault } from "./network-fault.ts";

export const slicer = networkFault("slicer", {
  toxic: "slicer",
  direction: "upstream",
  averageBytes: 48,
  sizeVariation: 16,
  delayMicros: 4_000,
});

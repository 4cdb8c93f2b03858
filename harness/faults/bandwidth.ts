/** The line is slow: a request of some hundred bytes takes a noticeable time. */
import { networkFault } from "./network-fault.ts";

export const bandwidth = networkFault("bandwidth", {
  toxic: "bandwidth",
  direction: "upstream",
  kilobytesPerSecond: 4,
});

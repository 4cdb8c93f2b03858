/** The connection is reset before the request is there: it was never executed, and the client cannot know. */
import { networkFault } from "./network-fault.ts";

export const resetBeforeArrival = networkFault("reset-before-arrival", {
  toxic: "reset-peer",
  direction: "upstream",
  ms: 0,
});

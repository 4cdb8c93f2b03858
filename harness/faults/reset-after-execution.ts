/** The connection is reset at the first byte of the answer: executed, and the answer is lost. */
import { networkFault } from "./network-fault.ts";

export const resetAfterExecution = networkFault("reset-after-execution", {
  toxic: "reset-peer",
  direction: "downstream",
  ms: 0,
});

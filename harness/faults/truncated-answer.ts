/** The answer breaks off after its first bytes. */
import { networkFault } from "./network-fault.ts";

export const truncatedAnswer = networkFault("truncated-answer", {
  toxic: "limit-data",
  direction: "downstream",
  bytes: 60,
});

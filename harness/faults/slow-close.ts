/** The connection is closed long after its end was asked for. */
import { networkFault } from "./network-fault.ts";

export const slowClose = networkFault("slow-close", { toxic: "slow-close", direction: "downstream", ms: 300 });

/** Answers come late, and not all equally late. */
import { networkFault } from "./network-fault.ts";

export const latency = networkFault("latency", { toxic: "latency", direction: "downstream", ms: 120, jitterMs: 60 });

/** The request leaves and never arrives; nobody says so. */
import { networkFault } from "./network-fault.ts";

export const blackHoleRequest = networkFault("black-hole-request", { toxic: "timeout", direction: "upstream", ms: 0 });

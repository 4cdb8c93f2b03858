/** The request leaves and never arrives; nobody says so. */
import { networkFault } from "./network-fault.ts";

export const blackHoleRequest = networkFault("black-hole-request", { kind: "timeout", direction: "upstream", ms: 0 });

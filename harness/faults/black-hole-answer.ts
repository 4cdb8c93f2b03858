/** The request arrives and is executed; no answer ever comes. */
import { networkFault } from "./network-fault.ts";

export const blackHoleAnswer = networkFault("black-hole-answer", { toxic: "timeout", direction: "downstream", ms: 0 });

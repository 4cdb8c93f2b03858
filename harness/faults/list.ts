/** Every fault, by the name that a plan uses. */
import type { Fault, FaultStep } from "../fault.ts";
import { pauseReplica } from "./pause-replica.ts";

export const faults: Readonly<Record<FaultStep["fault"], Fault>> = { "pause-replica": pauseReplica };

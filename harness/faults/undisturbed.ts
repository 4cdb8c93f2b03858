/** The control of every network fault: the same way through the same proxy, and nothing in it. */
import { networkFault } from "./network-fault.ts";

export const undisturbed = networkFault("undisturbed", null);
